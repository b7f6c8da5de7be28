// Puts everything together; and keeps a served page as new as its study.
const LIVE_EVERY = 3000; // milliseconds

function remembered() {
  try {
    return (DATA.state !== null && JSON.parse(sessionStorage.getItem("parsity-view"))) || {};
  } catch {
    return {};
  }
}

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
      root.dataset.ready = "yes";
      if (before.scroll) scrollTo({ top: before.scroll, behavior: "instant" });
      return;
    }
    if (!chart.drawn) draw(chart);
    setTimeout(next);
  };
  next();
  if (DATA.state !== null) follow(states);
}

// Ask the server for the study's state, and load the page again when it is another one.
function follow(states) {
  const badge = one('[data-role="live"]');
  const ask = async () => {
    if (document.hidden) return;
    try {
      const answer = await (await fetch("state.json", { cache: "no-store" })).json();
      badge.textContent = answer.driver ? "live" : "up to date";
      if (answer.state !== DATA.state) {
        sessionStorage.setItem("parsity-view", JSON.stringify({ states, scroll: scrollY }));
        location.reload();
      }
    } catch {
      badge.textContent = "the server is gone";
    }
  };
  badge.hidden = false;
  document.addEventListener("visibilitychange", ask);
  setInterval(ask, LIVE_EVERY);
  ask();
}

start();
