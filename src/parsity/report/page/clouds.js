// Every trial by its metaparameters, a panel for each sparsity; and the panels themselves.
const STATUSES = { com: "complete", out: "outpaced", inc: "incomplete", inf: "infeasible" };

// Panels of equal size that share their axes.
function grid(count, width) {
  const columns = Math.min(count, width < 520 ? 1 : width < 860 ? 2 : Math.min(count, 4)), rows = Math.ceil(count / columns);
  const name = (letter, place) => (place ? `${letter}${place + 1}` : letter);
  const top = columns === 1 ? 104 : 76, bottom = 52, panel = columns === 1 ? 270 : 310, gap = 64;
  const height = top + bottom + rows * panel + (rows - 1) * gap, inner = height - top - bottom;
  const step = (panel + gap) / inner, tall = panel / inner, wide = 0.028;
  const span = (1 - (columns - 1) * wide) / columns;
  return {
    columns, height, margin: { l: 64, r: 12, t: top, b: bottom },
    axes: (place) => ({ xaxis: name("x", place), yaxis: name("y", place) }),
    layout(across, up, titleAcross, titleUp) {
      const found = {};
      for (let place = 0; place < count; place += 1) {
        const column = place % columns, row = Math.floor(place / columns), lowest = place + columns >= count;
        const left = column * (span + wide), low = Math.max(0, 1 - tall - row * step);
        found[name("xaxis", place)] = { ...across(lowest ? titleAcross : ""), domain: [left, Math.min(1, left + span)], anchor: name("y", place), matches: place ? "x" : undefined };
        found[name("yaxis", place)] = { ...up(column ? "" : titleUp), domain: [low, Math.min(1, low + tall)], anchor: name("x", place), matches: place ? "y" : undefined, showticklabels: column === 0 };
      }
      return found;
    },
    titles: (names) => names.map((text, place) => ({
      text: `<b>${clean(text)}</b>`, showarrow: false, x: 0, y: 1, yshift: 20, xref: `${name("x", place)} domain`, yref: `${name("y", place)} domain`, xanchor: "left", font: { size: 13 },
    })),
    middle: (text, place) => remark(text, `${name("x", place)} domain`, `${name("y", place)} domain`),
  };
}

// What a cloud can be drawn over: what was searched, what follows from it, and the steps.
function quantities(study) {
  const found = study.axes.map((axis, place) => ({ ...axis, of: (trial) => study.tried[trial[1]][place] }));
  const rate = found.find((axis) => axis.name === "learning_rate"), momentum = found.find((axis) => axis.name === "momentum");
  if (rate && momentum) {
    const of = (trial) => rate.of(trial) / (1 - momentum.of(trial));
    const every = study.clouds.flatMap((cloud) => cloud.trials.map(of)).filter((value) => known(value) && value > 0);
    if (every.length) found.push({ name: "effective", label: "learning rate / (1 − momentum)", kind: "log", low: Math.min(...every), high: Math.max(...every), of });
  }
  const steps = study.clouds.flatMap((cloud) => cloud.trials.flatMap((trial) => trial.filter((_, place) => place > 2 && place % 2))).filter((value) => value > 0);
  found.push({ name: "steps", label: "steps", kind: "log", low: steps.length ? Math.min(...steps) : 1, high: steps.length ? Math.max(...steps) : 10, of: (trial, goal) => trial[3 + 2 * goal] });
  return found;
}

function searchAxis(quantity, title) {
  const { kind, low, high } = quantity;
  if (kind === "category") return axis(title, { type: "category" });
  if (kind === "linear") return axis(title, { range: [low - 0.04 * (high - low), high + 0.04 * (high - low)], nticks: 5 });
  const [least, most] = kind === "reverse-log" ? [1 - high, 1 - low] : [low, high];
  const pad = 0.05 * Math.log10(most / least) || 0.5;
  const ends = [Math.log10(least) - pad, Math.log10(most) + pad], ticks = [];
  for (let power = Math.ceil(ends[0]); power <= ends[1]; power += 1) ticks.push(power);
  const text = (power) => (kind === "reverse-log" ? String(Number((1 - 10 ** power).toFixed(Math.max(0, -power)))) : power < -3 || power > 4 ? `10<sup>${String(power).replace("-", "−")}</sup>` : String(Number(`1e${power}`)));
  return axis(title, { type: "log", range: kind === "reverse-log" ? ends.reverse() : ends, tickvals: ticks.map((power) => 10 ** power), ticktext: ticks.map(text) });
}

const position = (quantity, trial, goal) => (quantity.kind === "reverse-log" ? 1 - quantity.of(trial, goal) : quantity.of(trial, goal));

function told(study, cloud, trial, goal, wins) {
  const status = STATUSES[trial[2 + 2 * goal]], step = trial[3 + 2 * goal];
  const how = { complete: `reached the goal after ${whole(step)} steps`, outpaced: `outpaced, stopped after ${whole(step)} steps`, incomplete: `not there after ${whole(step)} steps`, infeasible: `diverged after ${whole(step)} steps` };
  const lines = [`<b>trial ${trial[0]}</b>${wins ? ", the winner" : ""}: ${how[status]}`];
  study.axes.forEach((axis, place) => lines.push(`${clean(axis.label)} ${written(study.tried[trial[1]][place])}`));
  lines.push(`batch size ${whole(cloud.b)}, ${study.called[study.sparsities.indexOf(cloud.s)]}`);
  return lines.join("<br>");
}

function marks() {
  return {
    outpaced: { symbol: "circle-open", size: 7, color: colour("soft"), opacity: 0.7, line: { width: 1.2 } },
    incomplete: { symbol: "triangle-up-open", size: 8, color: colour("care"), line: { width: 1.3 } },
    infeasible: { symbol: "x-thin", size: 7, color: colour("bad"), line: { width: 1.4, color: colour("bad") } },
    complete: { symbol: "circle", color: colour("series-1"), opacity: 0.85, line: { width: 1, color: colour("paper") } },
    winner: { symbol: "star", size: 19, color: colour("gold"), line: { width: 1.2, color: colour("gold-edge") } },
  };
}

function cloudsChart(study, state) {
  const every = quantities(study);
  return (width) => {
    const [x, y] = [every[state.x], every[state.y]], goal = state.goal, batch = study.batches[state.batch];
    const panels = grid(study.sparsities.length, width), look = marks(), data = [], annotations = panels.titles(study.called.map((name) => `${name}, batch ${whole(batch)}`));
    study.sparsities.forEach((sparsity, panel) => {
      const cloud = study.clouds.find((found) => found.b === batch && found.s === sparsity);
      const trials = (cloud?.trials ?? []).filter((trial) => trial[2 + 2 * goal]);
      if (!trials.length) annotations.push(panels.middle("not measured yet", panel));
      const winner = cloud?.winners[goal] ?? null;
      const best = trials.find((trial) => trial[0] === winner)?.[3 + 2 * goal];
      for (const kind of Object.keys(look)) {
        const some = trials.filter((trial) => (kind === "winner" ? trial[0] === winner : trial[0] !== winner && STATUSES[trial[2 + 2 * goal]] === kind));
        const size = kind === "complete" ? some.map((trial) => 7 + 9 * (best / trial[3 + 2 * goal])) : look[kind].size;
        data.push({
          x: some.map((trial) => position(x, trial, goal)), y: some.map((trial) => position(y, trial, goal)), mode: "markers", name: kind, legendgroup: kind,
          showlegend: panel === 0, marker: { ...look[kind], size }, hoverinfo: "text", hovertext: some.map((trial) => told(study, cloud, trial, goal, kind === "winner")),
          hoverlabel: { bordercolor: look[kind].color }, cliponaxis: false, ...panels.axes(panel),
        });
      }
    });
    return {
      data,
      layout: layout({
        ...panels.layout((title) => searchAxis(x, title), (title) => searchAxis(y, title), clean(x.label), clean(y.label)),
        annotations, height: panels.height, margin: panels.margin, uirevision: `${state.x} ${state.y}`,
      }),
    };
  };
}
