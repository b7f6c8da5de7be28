// Steps by batch size: the curves, what sparsity costs, and several studies in one picture.
const VIEWS = ["steps", "normalised", "fit"];

function ends(counts) {
  return ["complete", "incomplete", "infeasible", "outpaced"].filter((kind) => counts[kind])
    .map((kind) => `${counts[kind]} ${kind}`).join(", ");
}

function bounds(point) {
  if (!known(point.low) && !known(point.high)) return "95 %: not bounded";
  return `95 %: ${known(point.low) ? written(Math.round(point.low)) : "open"} to ${known(point.high) ? written(Math.round(point.high)) : "open"}`;
}

// What a point says when it is pointed at.
function described(point, name) {
  const lines = [`<b>batch size ${whole(point.b)}, ${clean(name)}</b>`];
  lines.push(`K* = <b>${whole(point.v)}</b> steps (${bounds(point)})`);
  lines.push(`first met in (${whole(point.miss)}, ${whole(point.v)}]`);
  lines.push(`won by trial ${point.winner} of ${point.n}: ${ends(point.counts)}`);
  for (const [key, value] of Object.entries(point.mp ?? {})) lines.push(`${clean(key.replaceAll("_", " "))} ${written(value)}`);
  if (known(point.test)) lines.push(`test error ${share(point.test)}`);
  const scaling = [point.regime && `${point.regime} scaling`];
  if (known(point.speedup)) scaling.push(`${written(Number(point.speedup.toPrecision(3)))} of ${written(point.ideal)} times faster`);
  if (scaling.some(Boolean)) lines.push(scaling.filter(Boolean).join(", "));
  return lines.join("<br>");
}

// The points of a curve in a view's units.
function placed(curve, view) {
  const points = curve.points.filter((point) => known(point.v));
  if (view === "steps") return points.map((point) => ({ point, x: point.b, unit: 1 }));
  if (view === "normalised") return points.map((point) => ({ point, x: point.b, unit: points[0].v }));
  if (!(curve.c1 > 0 && curve.c2 > 0)) return [];
  return points.map((point) => ({ point, x: (point.b * curve.c2) / curve.c1, unit: curve.c2 }));
}

function whiskers(spots) {
  const side = (from, to) => spots.map(({ point, unit }) => (known(from(point)) && known(to(point)) ? (to(point) - from(point)) / unit : 0));
  return { type: "data", symmetric: false, array: side((p) => p.v, (p) => p.high), arrayminus: side((p) => p.low, (p) => p.v), thickness: 1.4, width: 3 };
}

function points(spots, place, name, group, texts, more = {}) {
  return {
    x: spots.map((spot) => spot.x), y: spots.map((spot) => spot.point.v / spot.unit), name: clean(name), legendgroup: group, hoverinfo: "text",
    hovertext: texts, mode: "lines+markers", line: { color: series(place), width: 2, dash: DASHES[place % 8] }, cliponaxis: false,
    marker: { color: series(place), size: 9, symbol: SYMBOLS[place % 8], line: { color: colour("paper"), width: 1.5 } },
    hoverlabel: { bordercolor: series(place) }, error_y: { ...whiskers(spots), color: `${series(place)}8c` }, ...more,
  };
}

function line(x, y, more) {
  return { x, y, mode: "lines", hoverinfo: "skip", showlegend: false, ...more };
}

// Batch sizes between the first and the last, close enough for a smooth line.
function between(low, high) {
  return Array.from({ length: 81 }, (_, place) => low * (high / low) ** (place / 80));
}

function fitted(curve, view, spots) {
  const { c1, c2 } = curve;
  if (!known(c1) || !known(c2)) return null;
  const x = between(spots[0].x, spots.at(-1).x);
  if (view === "fit") return { x, y: x.map((value) => 1 + 1 / value) };
  return { x, y: x.map((batch) => (c1 / batch + c2) / spots[0].unit) };
}

function curvesChart(study, state) {
  return (width) => {
    const view = VIEWS[state.view], goal = study.goals[state.goal], data = [], seen = { x: [], y: [] };
    let ideal = null;
    study.sparsities.forEach((sparsity, place) => {
      const curve = study.curves.find((found) => found.goal === goal && found.sparsity === sparsity);
      const spots = curve ? placed(curve, view) : [];
      if (!spots.length) return;
      const name = study.called[place], group = `s${place}`;
      const fit = fitted(curve, view, spots);
      if (fit) data.push(line(fit.x, fit.y, { legendgroup: group, line: { color: series(place), width: 1.3, dash: "dot" }, opacity: 0.8 }));
      data.push(points(spots, place, name, group, spots.map(({ point }) => described(point, name))));
      seen.x.push(...spots.map((spot) => spot.x));
      for (const { point, unit } of spots) seen.y.push(...[point.v, point.low, point.high].filter(known).map((value) => value / unit));
      ideal ??= spots[0];
    });
    if (ideal) {
      const x = [view === "fit" ? Math.min(...seen.x) : ideal.x, Math.max(...seen.x)];
      const start = view === "fit" ? 1 : (ideal.point.v / ideal.unit) * ideal.x;
      data.push(line(x, x.map((value) => start / value), {
        name: "ideal", showlegend: true, legendgroup: "ideal", line: { color: colour("soft"), width: 1.3, dash: "dash" }, opacity: 0.8,
      }));
    }
    const across = view === "fit" ? "batch size, in units of the critical batch" : "batch size";
    const up = { steps: "steps to the goal, K*", normalised: "K* over that of the smallest batch", fit: "K*, in units of its floor c2" }[view];
    const most = width < 560 ? 6 : 16;
    return {
      data,
      layout: layout({
        height: width < 560 ? 400 : 520, xaxis: twos(across, view === "fit" ? seen.x : study.batches, most),
        yaxis: twos(up, seen.y, 10), annotations: data.length ? [] : [remark("No trial has reached this goal.")], uirevision: `${view} ${state.goal}`,
      }),
    };
  };
}

function ratiosChart(study, state) {
  return (width) => {
    const goal = study.goals[state.goal], data = [], seen = [1];
    for (const found of study.ratios.filter((ratio) => ratio.goal === goal)) {
      const place = study.sparsities.indexOf(found.sparsity), name = study.called[place];
      const spots = found.points.filter((point) => known(point.v)).map((point) => ({ point, x: point.b, unit: 1 }));
      if (!spots.length) continue;
      const side = (value) => (known(value) ? value.toFixed(2) : "open");
      const texts = spots.map(({ point }) => `<b>batch size ${whole(point.b)}, ${clean(name)}</b><br>${point.v.toFixed(2)} times the steps (95 %: ${side(point.low)} to ${side(point.high)})`);
      data.push(points(spots, place, name, `s${place}`, texts));
      for (const { point } of spots) seen.push(...[point.v, point.low, point.high].filter(known));
    }
    const against = study.called[0];
    const [low, high] = [Math.min(...study.batches), Math.max(...study.batches)];
    data.push(line([low / 1.3, high * 1.3], [1, 1], { line: { color: colour("soft"), width: 1.3, dash: "dash" }, name: "as many steps", showlegend: true, legendgroup: "same" }));
    return {
      data,
      layout: layout({
        height: width < 560 ? 320 : 340, xaxis: twos("batch size", study.batches, width < 560 ? 6 : 16),
        yaxis: twos(`steps over those of ${against}`, seen, 8), uirevision: `${state.goal}`,
      }),
    };
  };
}

function besideChart(states) {
  return (width) => {
    const sparsities = [...new Set(DATA.studies.flatMap((study) => study.sparsities))].sort((a, b) => a - b);
    const data = [], found = { x: [], y: [] }, panels = grid(sparsities.length, width);
    sparsities.forEach((sparsity, panel) => {
      DATA.studies.forEach((study, place) => {
        const goal = study.goals[states[place].goal];
        const curve = study.curves.find((one) => one.goal === goal && one.sparsity === sparsity);
        const spots = curve ? placed(curve, "steps") : [];
        const texts = spots.map(({ point }) => `<b>${clean(study.name)}</b>, error ${goal}<br>${described(point, study.called[study.sparsities.indexOf(sparsity)])}`);
        data.push(points(spots, place, `${study.name}, error ${goal}`, `t${place}`, texts, { ...panels.axes(panel), showlegend: panel === 0 }));
        found.x.push(...spots.map((spot) => spot.x));
        for (const { point } of spots) found.y.push(...[point.v, point.low, point.high].filter(known));
      });
    });
    const names = sparsities.map((sparsity) => DATA.studies.map((study) => study.called[study.sparsities.indexOf(sparsity)]).find(Boolean));
    return {
      data,
      layout: layout({
        ...panels.layout((title) => twos(title, found.x, 6), (title) => twos(title, found.y, 8), "batch size", "steps to the goal, K*"),
        annotations: panels.titles(names), height: panels.height, margin: panels.margin,
      }),
    };
  };
}
