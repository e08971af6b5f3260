// The middle: the tree, its nodes as buttons, and what can be done about one.
import { leaveOut } from "./asked.js";
import { byId, choices, chosenOf, make } from "./make.js";

let nodes = [];
let table = null;
let edit = () => {};
let chosen = null;

export function build(facts, act) {
  table = facts;
  edit = act;
}

export function show(view) {
  const stage = byId("stage");
  const path = chosen === null || chosen >= nodes.length ? null : pathTo(nodes, chosen);
  nodes = view.nodes;
  if (stage.dataset.svg !== view.svg) {
    const held = ["stage", "outline", "node"].some((id) => byId(id).contains(document.activeElement));
    stage.innerHTML = view.svg;
    stage.dataset.svg = view.svg;
    // A picture has no parts for a screen reader; this one has buttons.
    stage.querySelector("svg")?.setAttribute("role", "group");
    byId("outline").innerHTML = view.outline;
    for (const part of stage.querySelectorAll("[data-node],[data-leaf]")) bind(part);
    byId("outline").querySelectorAll("li").forEach((line, at) => bindLine(line, view.outlined[at]));
    // The same node, where the new tree has it; its number may be another one.
    const same = path === null ? -1 : nodes.findIndex((_, at) => pathTo(nodes, at) === path);
    if (same >= 0) choose(same, false);
    else if (chosen !== null && chosen < nodes.length) choose(chosen, false);
    else forget();
    // Who works with the keyboard goes on there.
    if (held) placeOf(chosen ?? 0)?.focus({ preventScroll: true });
  }
}

const pathTo = (all, at) => (at === null ? "" : `${pathTo(all, all[at].parent)}\n${all[at].words}`);
const indexOf = (part) => Number(part.dataset.node ?? part.dataset.leaf);
const partOf = (index) => byId("stage").querySelector(`[data-node="${index}"],[data-leaf="${index}"]`);
const lineOf = (index) => byId("outline").querySelector(`[data-at="${index}"]`);
const placeOf = (index) => (lineOf(index)?.checkVisibility() ? lineOf(index) : partOf(index));

function bind(part) {
  const index = indexOf(part);
  const facts = nodes[index];
  const asks = facts.column === null ? `answer ${facts.answer}` : `asks about ${facts.column}`;
  part.setAttribute("tabindex", "0");
  part.setAttribute("role", "button");
  part.setAttribute("aria-label", `${facts.words}: ${asks}, ${facts.rows}`);
  part.addEventListener("click", () => choose(index, true));
  part.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(index, true);
      byId("node").querySelector("button")?.focus();
      return;
    }
    const kids = nodes.map((_, at) => at).filter((at) => nodes[at].parent === index);
    const siblings = nodes.map((_, at) => at).filter((at) => nodes[at].parent === facts.parent);
    const place = siblings.indexOf(index);
    const next = { ArrowDown: kids[0], ArrowUp: facts.parent, ArrowRight: siblings[place + 1], ArrowLeft: siblings[place - 1] }[event.key];
    if (next !== undefined && next !== null) {
      event.preventDefault();
      partOf(next)?.focus();
    }
  });
}

// On a narrow screen the lines of the outline take the place of the picture.
function bindLine(line, index) {
  const button = make("button", { type: "button", className: "line", onclick: () => choose(index, true) });
  button.append(...[...line.childNodes].filter((part) => part.nodeName !== "UL"));
  button.dataset.at = index;
  line.prepend(button);
}

function forget() {
  chosen = null;
  byId("node").hidden = true;
}

function choose(index, asked) {
  chosen = index;
  for (const part of byId("tree").querySelectorAll(".chosen")) part.classList.remove("chosen");
  partOf(index)?.classList.add("chosen");
  lineOf(index)?.classList.add("chosen");
  const facts = nodes[index];
  const box = byId("node");
  box.hidden = false;
  const button = (text, act) => make("button", { type: "button", textContent: text, onclick: act });
  const actions = [];
  const act = (action, value) => edit({ node: index, action, value });
  // A list of things to choose from; choosing one does it.
  const list = (text, options, action) => {
    const id = `edit-${action}`;
    const select = make("select", { id });
    choices(select, [[null, "choose"], ...options], null);
    select.addEventListener("change", () => chosenOf(select) !== null && act(action, chosenOf(select)));
    return make("span", { className: "pick" }, make("label", { htmlFor: id, textContent: text }), select);
  };
  // Something to write; Enter or the button does it.
  const field = (text, known, done, action) => {
    const id = `edit-${action}`;
    const input = make("input", { id, value: known, size: 12, autocomplete: "off" });
    const go = () => input.value.trim() && input.value.trim() !== known && act(action, input.value.trim());
    input.addEventListener("keydown", (event) => event.key === "Enter" && go());
    return make("span", { className: "pick" }, make("label", { htmlFor: id, textContent: text }), input, button(done, go));
  };
  const columns = table.columns.filter((name) => name !== facts.column).map((name) => [name, name]);
  if (facts.column !== null) {
    actions.push(
      button("Keep this question", () => act("lock")),
      button("End here", () => act("collapse")),
      button(`Not ${facts.column} from here on`, () => act("ban", facts.column)),
      button(`Never ask about ${facts.column}`, () => leaveOut(facts.column, true)),
      list("Ask instead about", columns, "change"),
    );
    if (facts.cuts !== null) actions.push(field(`Cut ${facts.column} at`, facts.cuts, "Move", "move"));
  } else {
    actions.push(button("Ask one more question here", () => act("grow")), list("Ask here about", columns, "change"));
    if (table.classes.length) actions.push(list("Answer here", table.classes.map((c) => [c.text, c.text]), "answer"));
  }
  const said = facts.answer === null ? `asks about ${facts.column}` : `answers ${facts.answer} (leaf ${facts.leaf})`;
  box.replaceChildren(
    make("b", { textContent: facts.words }),
    make("p", { textContent: `${facts.rows}; ${said}; loss below it ${facts.loss}.` }),
    make("div", { className: "tools" }, ...actions),
  );
  if (asked) box.scrollIntoView({ block: "nearest" });
}
