// The reader's place: kept when a served page loads itself again, so that nothing is lost but old numbers.
const KEPT = "parsity-view";

function remembered() {
  try {
    const found = (DATA.state !== null && JSON.parse(sessionStorage.getItem(KEPT))) || {};
    sessionStorage.removeItem(KEPT); // a reader who loads the page by hand begins anew
    return found;
  } catch {
    return {};
  }
}

// What is at the top of the window, and how far above it that begins: parts before it may grow.
function anchored() {
  const found = all("[id]", one("main")).filter((part) => part.getBoundingClientRect().top <= 80).at(-1);
  return found ? { id: found.id, offset: found.getBoundingClientRect().top } : { id: null, offset: scrollY };
}

const reachables = () => all("a, button, input, select, summary, [tabindex]");
const hiddenIn = (chart) => [...new Set((chart.element.data ?? []).filter((trace) => trace.visible === "legendonly").map((trace) => trace.legendgroup))];

function remember(states) {
  const view = {
    states, at: anchored(), focus: reachables().indexOf(document.activeElement),
    open: all("details").map((part) => part.open), hidden: charts.map(hiddenIn),
  };
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(view));
  } catch { /* then the page begins at its top */ }
}

async function restored(before) {
  if (!before.at) return;
  all("details").forEach((part, place) => { part.open = before.open?.[place] ?? part.open; });
  for (const [place, groups] of (before.hidden ?? []).entries()) {
    const chart = charts[place];
    const traces = (chart?.element.data ?? []).flatMap((trace, number) => (groups.includes(trace.legendgroup) ? [number] : []));
    if (traces.length) await Plotly.restyle(chart.element, { visible: "legendonly" }, traces);
  }
  reachables()[before.focus]?.focus({ preventScroll: true });
  const part = before.at.id ? document.getElementById(before.at.id) : null;
  const top = part ? part.getBoundingClientRect().top + scrollY - before.at.offset : before.at.offset;
  scrollTo({ top, behavior: "instant" });
}
