// Charts: a <figure data-chart="kind"> gets its data from the JSON in it and its looks from charts/<kind>.js.
const base = document.body.dataset.assets;
const drawn = new Map();
let library;

function script(name) {
  return new Promise((resolve, reject) => {
    const made = document.createElement("script");
    made.src = `${base}vendor/${name}`;
    made.onload = resolve;
    made.onerror = () => reject(new Error(`${name} cannot be fetched`));
    document.head.append(made);
  });
}

async function echarts() {
  library ??= (async () => {
    await script("echarts.min.js");
    if (document.documentElement.lang === "ko") await script("echarts.ko.js");
    return window.echarts;
  })();
  return library;
}

export function look() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--desk-${name}`).trim();
  return {
    text: colour("text"), muted: colour("muted"), line: colour("line"), bot: colour("bot"), human: colour("human"),
    band: colour("band"), accent: colour("accent"), watch: colour("watch"), surface: colour("surface"),
    ramp: [0, 1, 2, 3, 4, 5].map((step) => colour(`ramp-${step}`)),
    series: [0, 1, 2, 3, 4, 5, 6, 7].map((step) => colour(`series-${step}`)),
    dark: document.documentElement.dataset.bsTheme === "dark",
    narrow: window.innerWidth < 560,
  };
}

function usual(option, style) {
  return {
    animation: !window.matchMedia("(prefers-reduced-motion: reduce)").matches && option.animation !== false,
    textStyle: { color: style.text, fontFamily: "inherit" },
    aria: { enabled: true, decal: { show: option.decal === true } },
    color: style.series,
    ...option,
    tooltip: option.tooltip === false ? undefined : {
      renderMode: "richText", confine: true, backgroundColor: style.surface, borderColor: style.line,
      textStyle: { color: style.text }, ...option.tooltip,
    },
  };
}

async function draw(figure) {
  const place = figure.querySelector(".desk-chart-place");
  const data = JSON.parse(figure.querySelector(".desk-chart-data").textContent);
  const kind = figure.dataset.chart;
  if (kind === "graph") {
    const { draw: graph } = await import("./graph.js");
    await script("cytoscape.min.js");
    graph(place, data, look());
    figure.dataset.drawn = "yes";
    return;
  }
  const [lib, part] = await Promise.all([echarts(), import(`./charts/${kind}.js`)]);
  const locale = document.documentElement.lang === "ko" ? "KO" : "EN";
  const chart = lib.init(place, null, { renderer: "canvas", locale });
  const style = look();
  chart.setOption(usual(part.default(data, style), style));
  chart.on("click", (event) => { const to = event.data?.to ?? event.value?.to; if (typeof to === "string" && to.startsWith("/")) location.assign(to); });
  drawn.set(figure, chart);
  figure.dataset.drawn = "yes";
}

export function drawIn(root) {
  const figures = [...(root.querySelectorAll?.("figure[data-chart]") ?? [])];
  if (root.matches?.("figure[data-chart]")) figures.push(root);
  for (const figure of figures) {
    if (figure.dataset.begun) continue;
    figure.dataset.begun = "yes";
    draw(figure).catch((error) => {
      figure.querySelector(".desk-chart-table")?.setAttribute("open", "");
      figure.dataset.drawn = "no";
      console.error(error);
    });
  }
}

window.addEventListener("resize", () => { for (const chart of drawn.values()) chart.resize(); });
document.addEventListener("desk:theme", () => {
  for (const [figure, chart] of drawn) { chart.dispose(); drawn.delete(figure); draw(figure); }
});
