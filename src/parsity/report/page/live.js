// What a served study is doing now; and the page loaded again when its study has changed.
const LIVE_EVERY = 2000; // milliseconds

function spent(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60), hours = Math.floor(minutes / 60);
  if (!hours) return `${minutes} min`;
  return hours < 48 ? `${hours} h ${String(minutes % 60).padStart(2, "0")} min` : `${Math.round(hours / 24)} days`;
}

function element(name, text = "", more = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(more)) made.setAttribute(key, value);
  return made;
}

function paceOf(study) {
  const { left, trials } = study, done = study.cells.filter((cell) => cell.state === "finished").length;
  const words = [`${whole(trials.measured)} of ${whole(trials.planned)} trials, ${done} of ${study.cells.length} cells`];
  if (study.images_per_second) words.push(`${whole(study.images_per_second)} images a second`);
  if (left) words.push(`about ${spent(left.middle)} left (${spent(left.low)} to ${spent(left.high)})`);
  return `${words.join("; ")}.`;
}

function cellNow(cell, goal) {
  const steps = cell.steps[goal], made = element("td", steps ? whole(steps) : "", { class: `now-${cell.state}` });
  const share = `${cell.measured}/${cell.planned}`;
  const words = { finished: steps ? "" : "not reached", begun: share, waiting: "·" }[cell.state];
  if (cell.state === "running") made.append(element("small", cell.step ? `step ${whole(cell.step)}` : "at work"));
  else if (words) made.append(element("small", words));
  made.title = `${share} trials measured`;
  return made;
}

function gridNow(study) {
  const goals = Object.keys(study.cells[0]?.steps ?? {}), goal = goals.sort((a, b) => a - b)[0], table = element("table");
  table.append(element("caption", `Steps to error ${goal} so far`));
  const head = table.createTHead().insertRow();
  head.append(element("th", "batch size", { scope: "col" }));
  study.batch_sizes.forEach((size) => head.append(element("th", whole(size), { scope: "col" })));
  const body = table.createTBody();
  for (const sparsity of study.sparsities) {
    const row = body.insertRow();
    row.append(element("th", sparsity ? `${written(100 * sparsity)} % sparse` : "dense", { scope: "row", class: "text" }));
    for (const size of study.batch_sizes) {
      const cell = study.cells.find((found) => found.batch_size === size && found.sparsity === sparsity);
      row.append(cell ? cellNow(cell, goal) : element("td"));
    }
  }
  return table;
}

function studyNow(study) {
  const card = element("div", "", { class: "card" });
  const who = study.driver === null ? "nobody is at work on it" : study.stopping ? "stopping" : `process ${study.driver} is at work`;
  card.append(element("h3", `${study.name}: ${who}`));
  const { trials } = study;
  card.append(element("progress", "", { max: trials.planned, value: trials.measured, "aria-label": "trials measured" }));
  card.append(element("p", paceOf(study), { class: "meta" }));
  const scroller = element("div", "", { class: "scroller", tabindex: 0, role: "region", "aria-label": `Cells of ${study.name}` });
  scroller.append(gridNow(study));
  card.append(scroller);
  return card;
}

function showNow(studies) {
  const place = one('[data-role="now"]');
  if (!place) return;
  const going = studies.filter((study) => !study.finished);
  place.hidden = !going.length;
  if (!place.contains(document.activeElement)) place.replaceChildren(...going.map(studyNow));
}

function follow(states) {
  const badge = one('[data-role="live"]');
  let asking = false;
  const ask = async () => {
    if (document.hidden || asking) return;
    asking = true;
    try {
      const answer = await (await fetch("state.json", { cache: "no-store" })).json();
      badge.textContent = answer.driver ? "live" : "up to date";
      badge.classList.remove("gone");
      showNow(answer.studies);
      // Not under the hands of a reader who is marking words to copy.
      if (answer.state !== DATA.state && getSelection().isCollapsed) {
        remember(states);
        location.reload();
      }
    } catch {
      badge.textContent = "the server is gone";
      badge.classList.add("gone");
    }
    asking = false;
  };
  badge.hidden = false;
  document.addEventListener("visibilitychange", ask);
  setInterval(ask, LIVE_EVERY);
  ask();
}
