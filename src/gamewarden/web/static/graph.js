// Who gave to whom: a neighbourhood of accounts, the one asked about in the middle. The same stands in a table.
const SHEET = "__________cytoscape_stylesheet"; // the library would write a <style> of its own, which our policy forbids

function shortened(text) {
  return text.length > 18 ? `${text.slice(0, 17)}…` : text;
}

export function draw(place, data, look) {
  if (!document.getElementById(SHEET)) {
    const stand_in = document.createElement("meta");
    stand_in.id = SHEET;
    document.head.append(stand_in);
  }
  const colours = { act: look.bot, watch: look.watch, neither: look.human };
  const shapes = { act: "diamond", watch: "triangle", neither: "ellipse" };
  const most = Math.max(1, ...data.edges.map((edge) => edge.amount ?? edge.n));
  const graph = window.cytoscape({
    container: place,
    elements: [
      ...data.nodes.map((node) => ({ data: { ...node, label: shortened(node.label), colour: colours[node.point] ?? look.muted, shape: shapes[node.point] ?? "ellipse", size: [30, 20, 13][node.depth] } })),
      ...data.edges.map((edge, place) => ({ data: { id: `e${place}`, source: edge.from, target: edge.to, gives: edge.gives ?? true, width: edge.gives === false ? 1 : 1 + 3 * Math.sqrt((edge.amount ?? edge.n) / most) } })),
    ],
    style: [
      { selector: "node", style: { label: "data(label)", "background-color": "data(colour)", shape: "data(shape)", width: "data(size)", height: "data(size)", color: look.text, "font-size": 9, "text-margin-y": -2, "min-zoomed-font-size": 6, "text-background-color": look.surface, "text-background-opacity": 0.7, "text-background-padding": 1 } },
      { selector: "node[depth = 0]", style: { "border-width": 3, "border-color": look.accent, "font-weight": "bold", "font-size": 12 } },
      { selector: "edge", style: { width: "data(width)", "line-color": look.muted, "target-arrow-color": look.muted, "target-arrow-shape": "triangle", "curve-style": "bezier", opacity: 0.55, "arrow-scale": 0.8 } },
      { selector: "edge[!gives]", style: { "line-style": "dashed", "target-arrow-shape": "none" } },
    ],
    layout: data.nodes.length > 60
      ? { name: "concentric", animate: false, concentric: (node) => 3 - node.data("depth"), levelWidth: () => 1, minNodeSpacing: 6 }
      : { name: "cose", animate: false, randomize: false, nodeRepulsion: () => 9000, idealEdgeLength: () => 60 },
    userZoomingEnabled: false,
    maxZoom: 1.6,
  });
  graph.on("tap", "node", (event) => { const to = event.target.data("to"); if (typeof to === "string" && to.startsWith("/")) location.assign(to); });
  new ResizeObserver(() => { graph.resize(); graph.fit(undefined, 20); }).observe(place);
}
