// The right side: figures, proof, history, comparison and files.
import { ask, query } from "./api.js";
import { byId, make } from "./make.js";

const FILES = [
  ["session", "Session"], ["model", "Model (JSON)"], ["report", "Report"], ["card", "Model card"],
  ["card-text", "Card (Markdown)"], ["script", "Python script"], ["constraints", "Constraints (TOML)"],
];

export function build() {
  byId("save").replaceChildren(...FILES.map(([what, text]) =>
    make("li", {}, make("a", { href: `/api/save/${what}?${query({})}`, textContent: text, id: `save-${what}`, download: "" }))));
}

export function show(snapshot, visit) {
  const view = snapshot.view;
  if (view) {
    byId("leads").replaceChildren(...view.leads.map((lead) => make("div", {},
      make("h3", { textContent: lead.name }),
      make("p", { className: "figure", textContent: lead.figure }),
      make("p", { className: "hint", textContent: lead.words }))));
    byId("warnings").replaceChildren(...view.warnings.map((text) => make("p", { className: "alarm", textContent: text })));
    byId("proof").replaceChildren(...view.proof.map((text) => make("p", { textContent: text })));
    const checks = byId("checks");
    checks.hidden = view.constraints.length === 0;
    checks.tBodies[0].replaceChildren(...view.constraints.map((check) => make("tr", {},
      make("td", { textContent: check.words }),
      make("td", { className: check.met ? "num" : "num missed", textContent: check.value }),
      make("td", { className: "num", textContent: check.limit }))));
  }
  byId("prices").replaceChildren(...(view?.around?.prices ?? []).map((text) => make("li", { textContent: text })));
  const lines = snapshot.history.map((line) => {
    const figure = line.failed ? "no tree" : line.loss ? `${line.loss}, ${line.leaves} leaves` : "";
    const button = make("button", { type: "button", onclick: () => visit(line.number) }, line.words, make("span", { className: "soft", textContent: figure ? ` ${figure}` : "" }));
    const item = make("li", {}, button);
    if (line.number === snapshot.current) item.setAttribute("aria-current", "step");
    return item;
  });
  const list = byId("history");
  list.replaceChildren(...lines);
  // Within the list only: the page itself stays where it is.
  const here = list.querySelector("[aria-current]");
  if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
  price(snapshot);
}

// What a wish costs: the loss of every state that differs in the number of one constraint only.
function price(snapshot) {
  const box = byId("price");
  box.replaceChildren();
  const here = snapshot.history.find((line) => line.number === snapshot.current);
  const table = here?.constraints.at(-1);
  const key = table && Object.keys(table).find((name) => typeof table[name] === "number" && name !== "direction");
  if (!key) return;
  const bare = (line) => JSON.stringify(line.constraints.map((each, at) => (at === here.constraints.length - 1 ? { ...each, [key]: 0 } : each)));
  const points = new Map(snapshot.history.filter((line) => line.value !== null && !line.failed && bare(line) === bare(here))
    .map((line) => [line.constraints.at(-1)[key], line.value]));
  if (points.size < 2) return;
  const sorted = [...points].sort((a, b) => a[0] - b[0]);
  const xs = sorted.map(([x]) => x), ys = sorted.map(([, y]) => y);
  const at = (value, low, high, from, to) => from + ((value - low) / (high - low || 1)) * (to - from);
  const place = ([x, y]) => `${at(x, xs[0], xs.at(-1), 34, 270).toFixed(1)},${at(y, Math.min(0, ...ys), Math.max(...ys), 96, 12).toFixed(1)}`;
  const svg = (tag, facts) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(facts)) element.setAttribute(name, value);
    return element;
  };
  const words = sorted.map(([x, y]) => `${x}: ${Math.round(1000 * y) / 1000}`).join("; ");
  const picture = svg("svg", { viewBox: "0 0 290 120", role: "img", class: "omt", "aria-label": `Loss by ${key.replaceAll("_", " ")}: ${words}` });
  picture.append(svg("polyline", { points: sorted.map(place).join(" "), fill: "none", class: "omt-used", "stroke-width": 2 }));
  for (const point of sorted) {
    const [cx, cy] = place(point).split(",");
    picture.append(svg("circle", { cx, cy, r: 3.5, class: "omt-dot" }));
  }
  for (const [x, anchor, text] of [[34, "start", xs[0]], [270, "end", xs.at(-1)]]) {
    const label = svg("text", { x, y: 114, class: "omt-soft", "font-size": 12, "text-anchor": anchor });
    label.textContent = text;
    picture.append(label);
  }
  box.replaceChildren(make("h3", { textContent: `What it costs: loss by ${key.replaceAll("_", " ")}` }), picture);
}

// The other good trees as small pictures; one that is chosen is shown beside the tree itself.
export function around(view) {
  const found = view.around;
  byId("around").hidden = !found;
  if (!found) return;
  byId("around-words").textContent = found.sentence;
  byId("told").hidden = !found.told;
  byId("disagree").textContent = found.told?.disagree ?? "";
  byId("columns-told").tBodies[0].replaceChildren(...(found.told?.lines ?? []).map(([name, ...figures]) => make("tr", {},
    make("th", { scope: "row", textContent: name }), ...figures.map((text) => make("td", { className: "num", textContent: text })))));
  // Only a constraint on groups says what their gap is.
  const gaps = found.trees.some((tree) => tree.gap !== null);
  byId("sort").querySelector('[value="gap"]').hidden = !gaps;
  if (!gaps && byId("sort").value === "gap") byId("sort").value = "value";
  const key = byId("sort").value;
  // Every change of the state comes by here; a dozen pictures are drawn again only where they differ.
  const content = [key, found.sentence, view.svg, ...found.trees.map((tree) => tree.svg)].join("\n");
  byId("sort").onchange = () => around(view);
  if (byId("gallery").shown === content) return;
  byId("gallery").shown = content;
  const rank = (tree) => (key === "asked" ? tree.columns.length : tree[key]);
  const sorted = [...found.trees].sort((a, b) => rank(a) - rank(b) || a.value - b.value);
  byId("gallery").replaceChildren(...sorted.map((tree) => {
    const picture = make("span", { className: "small", "aria-hidden": "true" });
    picture.innerHTML = tree.svg;
    const words = `${tree.loss}, ${tree.leaves} leaves: ${tree.columns.join(", ") || "no question"}${tree.gap === null ? "" : `; gap ${Math.round(1000 * tree.gap) / 1000}`}`;
    const open = () => beside(view, tree);
    return make("li", {}, make("button", { type: "button", onclick: open, "aria-label": `Show beside the tree: ${words}` },
      picture, make("span", { textContent: words })));
  }));
}

function beside(view, tree) {
  for (const id of ["left", "right"]) byId(id).replaceChildren(make("option", { textContent: id === "left" ? "the tree" : "another good tree" }));
  byId("left").onchange = byId("right").onchange = null;
  byId("changes").replaceChildren();
  byId("left-tree").innerHTML = view.svg;
  byId("right-tree").innerHTML = tree.svg;
  const asked = [...new Set(view.nodes.map((node) => node.column).filter(Boolean))].sort();
  const rows = [["loss in training", view.loss, tree.loss], ["leaves", view.leaves, tree.leaves], ["asks about", asked.join(", "), tree.columns.join(", ")]];
  byId("differences").tBodies[0].replaceChildren(...rows.map(([name, a, b]) => make("tr", {},
    make("th", { scope: "row", textContent: name }), make("td", { textContent: a }), make("td", { textContent: b }))));
  byId("side-by-side").showModal();
}

export function comparison(snapshot) {
  const lines = snapshot.history.filter((line) => line.loss);
  const dialog = byId("side-by-side");
  const [left, right] = [byId("left"), byId("right")];
  for (const select of [left, right]) {
    select.replaceChildren(...lines.map((line) => make("option", { value: line.number, textContent: `${line.number}: ${line.words}` })));
    select.onchange = () => draw();
  }
  const parent = snapshot.history.find((line) => line.number === snapshot.current)?.parent;
  left.value = parent ?? lines[0]?.number;
  right.value = snapshot.current;
  async function draw() {
    const { states, changes } = await ask(`/api/compare?${query({ a: left.value, b: right.value })}`);
    const [a, b] = states;
    byId("changes").replaceChildren(...changes.map((text) => make("li", { textContent: text })));
    byId("left-tree").innerHTML = a.view.svg;
    byId("right-tree").innerHTML = b.view.svg;
    const rows = [
      ["asked", (s) => wishWords(s.wishes)], ["loss in training", (s) => s.view.loss], ["leaves", (s) => s.view.leaves],
      ["expected on new rows", (s) => s.view.leads[0].figure], ["proven", (s) => s.view.badge],
      ["constraints", (s) => s.view.constraints.map((each) => `${each.words}: ${each.value}`).join("; ") || "none"],
    ];
    byId("differences").tBodies[0].replaceChildren(...rows.map(([name, of]) => make("tr", {},
      make("th", { scope: "row", textContent: name }), make("td", { textContent: of(a) }), make("td", { textContent: of(b) }))));
  }
  draw().then(() => dialog.showModal()).catch((fault) => { byId("fault").textContent = fault.message; byId("fault").hidden = false; });
}

const wishWords = (wishes) =>
  `depth ${wishes.depth}, ${wishes.leaves ?? "chosen"} leaves, ${wishes.objective}` +
  (wishes.left_out.length ? `, without ${wishes.left_out.join(", ")}` : "");
