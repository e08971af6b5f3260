// The studio's page: what is asked goes to the server, what is known comes from it, and the latest of both is shown.
import { ask, enter, listen, tell } from "./api.js";
import * as asked from "./asked.js";
import { byId } from "./make.js";
import * as side from "./side.js";
import * as tree from "./tree.js";

let snapshot = null;
let waiting = null;
let sending = false;

function fault(text) {
  byId("fault").textContent = text;
  byId("fault").hidden = !text;
}

async function act(action, content = {}) {
  try {
    fault("");
    await tell(`/api/do/${action}`, content);
  } catch (problem) {
    fault(problem.message);
    if (snapshot) show(snapshot);
  }
}

// One question at a time: while it is on its way only the latest change waits.
async function want(wishes) {
  waiting = wishes;
  asked.holds(wishes);
  if (sending) return;
  sending = true;
  while (waiting) {
    const next = waiting;
    waiting = null;
    await act("ask", { wishes: next });
  }
  sending = false;
  if (snapshot) show(snapshot);
}

function words(now) {
  const view = now.view;
  if (now.failed) return now.failed;
  if (!view) return "Looking for a tree";
  const gap = view.badge.toLowerCase();
  const before = now.before?.loss && now.before.loss !== view.loss ? ` (${now.before.loss} in the step before)` : "";
  if (!now.busy) return `${view.loss}, ${gap}${before}`;
  if (view.phase === "sample") return "A first tree, of some of the rows; now all of them are looked at";
  if (view.phase === "validated") return `${view.loss}, ${gap}; looking for other good trees`;
  return view.phase === "full" || view.phase === "known"
    ? `${view.loss}, ${gap}; finding out what to expect on new rows`
    : `Best so far: ${view.loss}, ${gap}; still looking`;
}

function show(now) {
  snapshot = now;
  document.body.classList.toggle("working", now.busy);
  document.body.classList.toggle("failed", Boolean(now.failed));
  document.body.dataset.revision = now.current;
  document.body.dataset.busy = now.busy;
  byId("status").textContent = words(now);
  byId("undo").disabled = !now.undo;
  byId("redo").disabled = !now.redo;
  byId("stop").disabled = !now.busy;
  // While changes are on their way, sliders are ahead of what the server knows.
  if (!sending) asked.show(now);
  if (now.view) {
    byId("badge").textContent = now.failed ? "No tree for this; the last one is shown" : now.view.phase === "sample" ? "Of some of the rows" : now.view.badge;
    tree.show(now.view);
    side.around(now.view);
  }
  side.show(now, (revision) => act("visit", { revision }));
}

function theme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const kept = localStorage.getItem("omtree-theme");
  const set = (name) => {
    root.dataset.theme = name;
    byId("theme").setAttribute("aria-pressed", String(name === "dark"));
  };
  set(kept ?? (dark ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("omtree-theme", next);
    set(next);
  });
}

async function begin() {
  theme();
  try {
    const facts = await ask("/api/facts");
    const first = await enter();
    asked.build(facts, want);
    side.build();
    tree.build(facts, (change) => act("edit", change));
    show(first);
    // What has not changed is not sent again.
    listen((news) => show({ ...snapshot, ...news }), () => fault("The studio does not answer; look at its terminal."));
  } catch (problem) {
    fault(problem.message);
    byId("status").textContent = "";
    return;
  }
  for (const action of ["undo", "redo", "stop"]) byId(action).addEventListener("click", () => act(action));
  byId("compare").addEventListener("click", () => side.comparison(snapshot));
  byId("close").addEventListener("click", () => byId("side-by-side").close());
  addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y") && !["number", "text"].includes(event.target.type)) {
      event.preventDefault();
      act(key === "y" || event.shiftKey ? "redo" : "undo");
    } else if (key === "escape" && !byId("side-by-side").open) act("stop");
  });
}

begin();
