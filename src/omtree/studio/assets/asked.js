// The left side: sliders and cards, from which the wishes are read.
import { byId, choices, chosenOf, make } from "./make.js";

let facts = null;
let wishes = null;
let changed = () => {};
const controls = {};

function change(part) {
  wishes = { ...wishes, ...part };
  changed(wishes);
}

function slider(id, label, low, high, step, show, moved) {
  const output = make("output", { id: `${id}-now` });
  const input = make("input", { type: "range", id, min: low, max: high, step });
  const say = () => {
    output.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => {
    say();
    moved(Number(input.value));
  });
  const field = make("div", { className: "field" }, make("label", { htmlFor: id }, label, output), input);
  return {
    field,
    set(value) {
      // What a hand is on stays where the hand is.
      if (document.activeElement !== input || !input.matches(":active")) input.value = value;
      say();
    },
    input,
  };
}

function pick(id, label, options, picked) {
  const select = make("select", { id, onchange: () => picked(chosenOf(select)) });
  choices(select, options, options[0]?.[0]);
  return { field: make("div", { className: "field" }, make("label", { htmlFor: id }, label), select), select };
}

export function build(table, onchange) {
  facts = table;
  changed = onchange;
  const form = byId("wishes");
  form.addEventListener("submit", (event) => event.preventDefault());
  controls.depth = slider("depth", "Depth", 1, facts.most_depth, 1, String, (depth) => change({ depth }));
  controls.leaves = slider("leaves", "Leaves", 1, 8, 1, String, (leaves) => {
    controls.auto.checked = false;
    change({ leaves });
  });
  controls.auto = make("input", {
    type: "checkbox",
    id: "auto",
    onchange: () => change({ leaves: controls.auto.checked ? null : Number(controls.leaves.input.value) }),
  });
  const auto = make("label", { className: "tick", htmlFor: "auto" }, controls.auto, "chosen by cross-validation");
  controls.curve = make("div", { className: "chart", id: "curve" });
  controls.objective = pick("objective", "Minimise", facts.objectives.map((name) => [name, name.replaceAll("_", " ")]),
    (objective) => change({ objective }));
  const parts = [controls.depth.field, controls.leaves.field, auto, controls.curve, controls.objective.field];
  if (facts.classes.length === 2) {
    controls.positive = pick("positive", "It is about", facts.classes.map((c) => [c.text, c.text]),
      (positive) => change({ positive }));
    parts.push(controls.positive.field);
  }
  controls.support = slider("support", "Smallest leaf", 0.5, 25, 0.5, (v) => `${v} % of the rows`, (share) => change({ min_leaf: share / 100 }));
  parts.push(controls.support.field, columnBoxes());
  form.replaceChildren(...parts);
  const add = byId("add");
  add.append(...facts.cards.map((card) => make("option", { value: card.type, textContent: card.title })));
  add.addEventListener("change", () => {
    const kind = facts.cards.find((card) => card.type === add.value);
    add.value = "";
    if (kind) change({ constraints: [...wishes.constraints, start(kind)] });
  });
}

function columnBoxes() {
  controls.columns = new Map();
  const boxes = facts.columns.map((column, place) => {
    const box = make("input", { type: "checkbox", id: `column-${place}`, checked: true, onchange: () => leaveOut(column, !box.checked) });
    controls.columns.set(column, box);
    return make("label", { className: "tick", htmlFor: box.id }, box, column);
  });
  return make("details", { className: "field" }, make("summary", { textContent: "Columns that may be asked about" }),
    make("div", { className: "columns" }, ...boxes));
}

export function leaveOut(column, out) {
  const others = wishes.left_out.filter((name) => name !== column);
  change({ left_out: out ? [...others, column] : others });
}

// What is kept of a tree, a line for every node that something is said of.
function keptWords(node, where = "at the root") {
  const said = [];
  if (node.split) said.push(`${where}: asks about ${node.split}${node.at ? ` at ${node.at.join(", ")}` : ""}`);
  if (node.leaf) said.push(`${where}: ends`);
  if (node.leaf === false) said.push(`${where}: asks one more question`);
  if (node.answer !== undefined) said.push(`${where}: answers ${node.answer}`);
  if (node.without?.length) said.push(`${where}: not ${node.without.join(", ")} from here on`);
  (node.below ?? []).forEach((child, at) => said.push(...keptWords(child, `${where === "at the root" ? "" : `${where}, `}branch ${at + 1} of ${node.split}`)));
  return said;
}

const listOf = (of) => (of === "classes" ? facts.classes.map((c) => [c.value, c.text]) : facts[of].map((name) => [name, name]));

function start(kind) {
  const table = { type: kind.type };
  for (const field of kind.fields) {
    if (field.kind === "slider") table[field.key] = field.start;
    else if (field.kind === "one") table[field.key] = listOf(field.of)[field.of === "classes" ? facts.classes.length - 1 : 0]?.[0];
    else if (field.kind === "some") table[field.key] = facts.columns.slice(0, field.least);
    else if (field.kind === "prices") table[field.key] = Object.fromEntries(facts.columns.map((name) => [name, 1]));
    else table[field.key] = field.picks[0][0];
  }
  return table;
}

function card(table, place) {
  const kind = facts.cards.find((each) => each.type === table.type);
  const title = kind?.title ?? (table.type === "force" ? "Kept of the tree" : table.type);
  const set = (key, value) => change({ constraints: wishes.constraints.map((each, at) => (at === place ? { ...each, [key]: value } : each)) });
  const away = make("button", {
    type: "button", textContent: "Remove", "aria-label": `Remove ${title}`,
    onclick: () => change({ constraints: wishes.constraints.filter((_, at) => at !== place) }),
  });
  const head = make("div", { className: "head" }, make("b", { textContent: title }), away);
  const box = make("div", { className: "card", role: "group", "aria-label": title }, head);
  if (!kind) {
    const lines = table.type === "force" ? keptWords(table.tree) : [JSON.stringify(table)];
    box.append(make("ul", { className: "kept" }, ...lines.map((line) => make("li", { textContent: line }))));
    return box;
  }
  kind.fields.forEach((field, at) => {
    const id = `card-${place}-${at}`;
    if (field.kind === "slider") {
      const made = slider(id, field.label, field.low, field.high, field.step, (v) => String(v), (value) => set(field.key, value));
      made.set(table[field.key]);
      box.append(made.field);
    } else if (field.kind === "one" || field.kind === "pick") {
      const made = pick(id, field.label, field.kind === "pick" ? field.picks : listOf(field.of), (value) => set(field.key, value));
      made.select.value = JSON.stringify(table[field.key]);
      box.append(made.field);
    } else if (field.kind === "some") {
      const select = make("select", { id, multiple: true });
      choices(select, facts.columns.map((name) => [name, name]));
      for (const option of select.options) option.selected = table[field.key].includes(JSON.parse(option.value));
      select.addEventListener("change", () => {
        const picked = [...select.selectedOptions].map((option) => JSON.parse(option.value));
        // The order in which they were picked is kept.
        const kept = table[field.key].filter((name) => picked.includes(name));
        const now = [...kept, ...picked.filter((name) => !kept.includes(name))];
        if (now.length >= field.least) set(field.key, now);
      });
      box.append(make("div", { className: "field" }, make("label", { htmlFor: id, textContent: field.label }), select));
    } else {
      const prices = make("div", { className: "prices" });
      facts.columns.forEach((name, n) => {
        const input = make("input", { type: "number", min: 0, step: "any", id: `${id}-${n}`, value: table[field.key][name] ?? 0 });
        input.addEventListener("change", () => set(field.key, { ...table[field.key], [name]: Math.max(0, Number(input.value) || 0) }));
        prices.append(make("label", { htmlFor: input.id, textContent: name }), input);
      });
      box.append(make("p", { className: "hint", textContent: field.label }), prices);
    }
  });
  return box;
}

export function show(snapshot) {
  const before = wishes;
  wishes = snapshot.wishes;
  const view = snapshot.view;
  controls.depth.set(wishes.depth);
  controls.leaves.input.max = view?.most_leaves ?? 2 ** wishes.depth;
  controls.leaves.set(wishes.leaves ?? view?.leaves ?? 1);
  controls.auto.checked = wishes.leaves === null;
  controls.objective.select.value = JSON.stringify(wishes.objective);
  if (controls.positive) controls.positive.select.value = JSON.stringify(wishes.positive ?? facts.classes[1].text);
  controls.support.set(Math.round(1000 * wishes.min_leaf) / 10);
  for (const [column, box] of controls.columns) box.checked = !wishes.left_out.includes(column);
  if (view?.curve) controls.curve.innerHTML = view.curve;
  else if (!snapshot.busy) controls.curve.replaceChildren();
  const same = before && JSON.stringify(before.constraints) === JSON.stringify(wishes.constraints);
  const cards = byId("cards");
  if (!same || cards.childElementCount !== wishes.constraints.length) cards.replaceChildren(...wishes.constraints.map(card));
}

// A change that the server has not seen yet is what the next change starts from.
export function holds(next) {
  const cards = byId("cards");
  if (cards.childElementCount !== next.constraints.length) cards.replaceChildren(...next.constraints.map(card));
}
