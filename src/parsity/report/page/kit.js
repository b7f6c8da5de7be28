// What all charts share: the page's data, its colours, axes, and a register of charts to draw again.
const DATA = JSON.parse(document.getElementById("parsity-data").textContent);
const root = document.documentElement;
const charts = []; // { element, make(width) -> { data, layout, label } }
const PRINTED = 680; // pixels across a printed page
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "pentagon", "hexagram"];
const DASHES = ["solid", "solid", "solid", "solid", "dashdot", "dashdot", "longdash", "longdash"];
let printing = false;

const one = (selector, inside = document) => inside.querySelector(selector);
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const series = (place) => colour(`series-${place % 8}`);
const clean = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
const say = (text) => { one("#said").textContent = text; };
const whole = (value) => Math.round(value).toLocaleString("en-GB");

// A number as people write it: four digits, no needless zeros.
function written(value) {
  if (value === null || value === undefined) return "not finite";
  if (typeof value !== "number") return clean(value);
  if (Number.isInteger(value)) return whole(value);
  return Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(4)));
}

function share(value) {
  return `${Number((100 * value).toPrecision(3))} %`;
}

// Powers of two between two values, no more than `most` of them.
function powers(low, high, most) {
  const first = Math.ceil(Math.log2(low) - 1e-9), last = Math.floor(Math.log2(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) found.push(2 ** power);
  return found;
}

const fraction = (value) => (value >= 1 ? whole(value) : `1/${whole(1 / value)}`);

function axis(title, more) {
  return {
    title: { text: title, font: { size: 13, color: colour("soft") }, standoff: 8 }, gridcolor: colour("grid"),
    linecolor: colour("rule"), tickcolor: colour("rule"), zeroline: false, showline: true, ticks: "outside", ticklen: 4,
    tickfont: { size: 12, color: colour("soft") }, automargin: true, ...more,
  };
}

function twos(title, values, most, more = {}) {
  const found = values.filter((value) => known(value) && value > 0);
  if (!found.length) return axis(title, { type: "log", ...more });
  const low = Math.min(...found) / 1.35, high = Math.max(...found) * 1.35;
  const ticks = powers(low, high, most);
  return axis(title, {
    type: "log", range: [Math.log10(low), Math.log10(high)], tickvals: ticks, ticktext: ticks.map(fraction), ...more,
  });
}

function layout(more) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest", hoverdistance: 30, uirevision: "same",
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("ink") },
    margin: { l: 58, r: 12, t: 44, b: 46 },
    legend: {
      orientation: "h", x: 0, xanchor: "left", y: 1, yref: "container", yanchor: "top", itemsizing: "trace", font: { size: 13 },
    },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("faint"), activecolor: colour("ink") },
    hoverlabel: { bgcolor: colour("card"), font: { color: colour("ink"), size: 13 }, align: "left", namelength: -1 },
    ...more,
  };
}

const CONFIG = {
  displaylogo: false, doubleClick: "reset", showTips: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "sendDataToCloud", "sendChartToCloud"],
};

// A note in the middle of a chart, or of one of its panels.
function remark(text, across = "paper", down = "paper") {
  return { text, showarrow: false, x: 0.5, y: 0.5, xref: across, yref: down, font: { size: 14, color: colour("soft") } };
}

// On a small screen a finger that moves scrolls the page, and there is no room for buttons.
const small = (width) => width < 560 || matchMedia("(pointer: coarse)").matches;

function draw(chart) {
  const width = printing ? PRINTED : chart.element.clientWidth;
  const made = chart.make(width);
  const touched = small(width);
  const shown = { ...made.layout, width, dragmode: touched ? false : "zoom" };
  Plotly.react(chart.element, made.data, shown, { ...CONFIG, displayModeBar: touched ? false : "hover" });
  if (!chart.drawn) {
    chart.drawn = true;
    chart.element.on("plotly_afterplot", () => reachable(chart.element));
    reachable(chart.element);
  }
}

const drawAll = () => charts.forEach(draw);

// The legend's entries as switches for keyboards and screen readers.
function reachable(element) {
  const entries = all(".legend .traces", element);
  entries.forEach((entry, place) => {
    const toggle = one(".legendtoggle", entry);
    if (!toggle) return;
    const name = one(".legendtext", entry)?.textContent ?? "";
    const on = Number(getComputedStyle(entry).opacity) > 0.75;
    const attributes = { tabindex: 0, role: "switch", "aria-checked": on, "aria-label": name };
    for (const [key, value] of Object.entries(attributes)) toggle.setAttribute(key, value);
    toggle.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      const found = element.data.map((trace, index) => ({ trace, index }));
      const group = found.find(({ trace }) => trace.showlegend !== false && trace.name === name)?.trace.legendgroup;
      const members = found.filter(({ trace }) => trace.legendgroup === group).map(({ index }) => index);
      Plotly.restyle(element, { visible: on ? "legendonly" : true }, members).then(() => {
        say(`${name} ${on ? "hidden" : "shown"}`);
        all(".legend .legendtoggle", element)[place]?.focus();
      });
    };
  });
}
