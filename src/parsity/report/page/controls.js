// The switches of the page: goal, view, batch size, axes, theme, copying, printing.
function redraw(place, kinds) {
  charts.filter((chart) => (chart.place === place || chart.place === null) && kinds.includes(chart.kind)).forEach(draw);
}

function chooseGoal(section, place, state, number) {
  state.goal = number;
  all(".for-goal", section).forEach((part) => part.classList.toggle("shown", Number(part.dataset.goal) === number));
  redraw(place, ["curves", "ratios", "workers", "clouds", "beside"]);
}

function control(section, place, state) {
  const study = DATA.studies[place];
  section.addEventListener("change", ({ target }) => {
    const role = target.dataset.role;
    if (role === "goal") {
      chooseGoal(section, place, state, Number(target.value));
      say(`Goal: error ${study.goals[state.goal]}`);
    } else if (role === "view") {
      state.view = Number(target.value);
      redraw(place, ["curves"]);
      say(`Curves show ${target.nextElementSibling.textContent}`);
    } else if (role === "x" || role === "y") {
      state[role] = Number(target.value);
      redraw(place, ["clouds"]);
      say(`Clouds over ${target.selectedOptions[0].textContent}`);
    }
  });
  slide(section, place, state, study);
  chooseAxes(section, state, quantities(study));
}

function slide(section, place, state, study) {
  const slider = one('[data-role="batch"]', section);
  if (!slider) return;
  slider.max = Math.max(0, study.batches.length - 1);
  slider.value = state.batch;
  const show = () => {
    const size = whole(study.batches[state.batch] ?? 0);
    one("output", slider.parentElement).textContent = size;
    slider.setAttribute("aria-valuetext", `batch size ${size}`);
  };
  slider.addEventListener("input", () => {
    state.batch = Number(slider.value);
    show();
    redraw(place, ["clouds"]);
  });
  show();
}

function chooseAxes(section, state, every) {
  const place = one('[data-role="axes"]', section);
  if (!place) return;
  for (const role of ["x", "y"]) {
    const label = document.createElement("label"), select = document.createElement("select");
    select.dataset.role = role;
    every.forEach((quantity, number) => select.add(new Option(quantity.label, number, false, number === state[role])));
    label.append(role === "x" ? "across" : "up", select);
    place.append(label);
  }
}

function themed() {
  const button = one('[data-role="theme"]'), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => button.setAttribute("aria-label", `Switch to the ${dark() ? "light" : "dark"} theme`);
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("parsity-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
    label();
    drawAll();
    say(`${dark() ? "Dark" : "Light"} theme`);
  });
  system.addEventListener("change", () => { label(); drawAll(); });
  label();
}

function copied(source) {
  if (source.tagName !== "TABLE") return source.textContent;
  const rows = all("tr", source).map((row) => [...row.cells]);
  const split = rows[0].map((_, column) => rows.some((row) => one(".interval", row[column])));
  // What is read together, a number and its interval, is two columns of a spreadsheet; numbers go without commas.
  const bare = (text) => (/^\d{1,3}(,\d{3})+$/.test(text.trim()) ? text.replaceAll(",", "") : text).trim();
  return rows.map((row, number) => row.flatMap((cell, column) => {
    if (!split[column]) return [bare(cell.textContent)];
    if (!number) return [cell.textContent, `${cell.textContent}, 95 %`];
    const interval = one(".interval", cell)?.textContent ?? "";
    return [bare(cell.textContent.replace(interval, "")), interval.trim()];
  }).join("\t")).join("\n");
}

function copying() {
  document.addEventListener("click", async ({ target }) => {
    if (!target.matches?.(".copy")) return;
    const text = copied(one(target.dataset.copy, target.parentElement));
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea"); // a browser may keep its clipboard from files
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    target.textContent = done ? "Copied" : "Not allowed";
    say(done ? "Copied" : "This browser did not allow copying");
    setTimeout(() => { target.textContent = "Copy"; }, 1500);
  });
}

// Paper is light and narrow, and nobody can open what is folded on it.
function printable() {
  let before = "";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    printing = true;
    all("details").forEach((part) => { part.dataset.was = part.open; part.open = true; });
    drawAll();
  });
  addEventListener("afterprint", () => {
    root.dataset.theme = before;
    printing = false;
    all("details").forEach((part) => { part.open = part.dataset.was === "true"; });
    drawAll();
  });
}

function resized() {
  let waiting = 0, width = innerWidth;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (innerWidth !== width && !printing) drawAll();
      width = innerWidth;
    }, 150);
  });
}
