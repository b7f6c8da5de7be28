// Puts everything together.
function start() {
  const before = remembered(), states = [];
  all(".study").forEach((section) => {
    const place = Number(section.dataset.study), study = DATA.studies[place], every = quantities(study);
    const middle = Math.floor((study.batches.length - 1) / 2);
    const state = { goal: Number(section.dataset.firstGoal), view: 0, batch: middle, x: 0, y: every.length > 1 ? 1 : 0, ...before.states?.[place] };
    state.goal = Math.min(state.goal, study.goals.length - 1);
    states.push(state);
    for (const [role, value] of [["goal", state.goal], ["view", state.view]]) {
      const chosen = one(`[data-role="${role}"][value="${value}"]`, section);
      if (chosen) chosen.checked = true;
    }
    const makers = { curves: curvesChart, ratios: ratiosChart, clouds: cloudsChart, workers: workersChart };
    all("[data-chart]", section).forEach((element) => {
      const kind = element.dataset.chart;
      charts.push({ element, kind, place, make: makers[kind](study, state) });
    });
    control(section, place, state);
    chooseGoal(section, -1, state, state.goal);
  });
  const beside = one('[data-chart="beside"]');
  if (beside) charts.unshift({ element: beside, kind: "beside", place: null, make: besideChart(states) });
  themed();
  copying();
  printable();
  resized();
  const waiting = [...charts];
  const next = () => {
    const chart = waiting.shift();
    if (!chart) {
      restored(before).then(() => { root.dataset.ready = "yes"; });
      return;
    }
    if (!chart.drawn) draw(chart);
    setTimeout(next);
  };
  next();
  if (DATA.state !== null) follow(states);
}

start();
