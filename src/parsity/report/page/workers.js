// Time to the goal by the number of workers.
const TIMES = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]];
const ROUND = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800,
  3600, 7200, 18000, 43200, 86400, 172800, 432000, 864000, 2592000, 8640000];

// Seconds as people say them.
function lasting(seconds) {
  if (!known(seconds)) return "open";
  const [size, unit] = TIMES.find(([size]) => seconds >= size) ?? TIMES.at(-1);
  return `${Number((seconds / size).toPrecision(3))} ${unit}`;
}

function timeAxis(title, values, most) {
  const low = Math.min(...values) / 1.35, high = Math.max(...values) * 1.35;
  const inside = ROUND.filter((tick) => tick >= low && tick <= high), stride = Math.max(1, Math.ceil(inside.length / most));
  const ticks = inside.filter((_, place) => place % stride === 0);
  return axis(title, { type: "log", range: [Math.log10(low), Math.log10(high)], tickvals: ticks, ticktext: ticks.map(lasting) });
}

function planned(point, name) {
  return [
    `<b>${whole(point.w)} worker${point.w === 1 ? "" : "s"}, ${clean(name)}</b>`,
    `<b>${lasting(point.v)}</b> to the goal (95 %: ${lasting(point.low)} to ${lasting(point.high)})`,
    `global batch ${whole(point.b)}`,
    `a step takes ${lasting(point.step)}, ${share(point.exchange)} of it exchange`,
    `cost ${lasting(point.cost).replace(" ", " worker-")}`,
  ].join("<br>");
}

function workersChart(study, state) {
  return (width) => {
    const plan = study.plans.find((found) => found.goal === study.goals[state.goal]), data = [], seen = { x: [1], y: [] };
    for (const found of plan?.lines ?? []) {
      const place = study.sparsities.indexOf(found.sparsity), name = study.called[place];
      const spots = found.points.filter((point) => known(point.v)).map((point) => ({ point, x: point.w, unit: 1 }));
      if (!spots.length) continue;
      const [first, last] = [spots[0], spots.at(-1)];
      data.push(line([first.x, last.x], [first.point.v, (first.point.v * first.x) / last.x], {
        legendgroup: `s${place}`, line: { color: series(place), width: 1.2, dash: "dot" }, opacity: 0.8,
      }));
      data.push(points(spots, place, name, `s${place}`, spots.map(({ point }) => planned(point, name))));
      seen.x.push(...spots.map((spot) => spot.x));
      for (const { point } of spots) seen.y.push(...[point.v, point.low, point.high].filter(known));
    }
    return {
      data,
      layout: layout({
        height: width < 560 ? 340 : 400, xaxis: twos("workers", seen.x, width < 560 ? 6 : 16),
        yaxis: seen.y.length ? timeAxis("time to the goal", seen.y, 8) : axis("time to the goal", {}),
        annotations: data.length ? [] : [remark("No trial has reached this goal.")], uirevision: `${state.goal}`,
      }),
    };
  };
}
