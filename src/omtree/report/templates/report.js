"use strict";
(() => {
  // The chosen model; `data` is the one that is shown, which may be of another size.
  const chosen = JSON.parse(document.getElementById("omtree-data").textContent);
  let data = chosen;
  const UNKNOWN = 255;
  const byId = (id) => document.getElementById(id);
  document.documentElement.classList.add("script");

  // ---- The model: the same answers as predict ----

  // A number or null for a numeric feature; the position of a level, null (missing) or "other" (never seen) else.
  function codeOf(feature, value) {
    if (value === null || Number.isNaN(value)) return feature.missing ? feature.values : UNKNOWN;
    if (!feature.cuts) return value === "other" ? feature.rest ?? UNKNOWN : value;
    let low = 0, high = feature.cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (feature.cuts[middle] <= value) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Down the tree; a value that a node never saw goes to its heaviest child.
  function walk(codes) {
    const steps = [];
    let at = 0;
    while (data.nodes[at].rule === undefined) {
      const node = data.nodes[at];
      const met = node.children.find((child) => data.nodes[child].codes.includes(codes[node.feature]));
      const next = met === undefined ? node.other : met;
      steps.push({ node: next, feature: node.feature, unseen: met === undefined });
      at = next;
    }
    return { rule: data.nodes[at].rule, steps };
  }

  // The rule with the fewest failed conditions; among equals the heaviest.
  function nearest(codes) {
    let best = -1, fewest = Infinity, held = 0;
    for (const r of data.priority) {
      const failed = data.rules[r].if.filter(([feature, allowed]) => !allowed.includes(codes[feature])).length;
      if (failed === 0) held += 1;
      if (failed < fewest) { best = r; fewest = failed; }
    }
    return { rule: best, failed: fewest, held };
  }

  function answerFor(values) {
    const codes = data.features.map((feature, i) => codeOf(feature, values[i]));
    return { codes, ...(data.walks ? walk(codes) : nearest(codes)) };
  }

  // What a rule says of a row: its answer, or the number that its line comes to.
  function saidOf(rule, values) {
    if (!rule.line || rule.line[1].some(([place]) => place < 0)) return rule.answer;
    const parts = rule.line[1].map(([place, slope, at, missing]) => slope * ((values[place] ?? missing) - at));
    const number = parts.reduce((sum, part) => sum + part, rule.line[0]);
    return number.toLocaleString("en", { maximumSignificantDigits: 5 });
  }

  window.omtree = {
    predict: (values) => saidOf(data.rules[answerFor(values).rule], values),
    apply: (values) => answerFor(values).rule,
  };

  // ---- Small helpers; text always goes in as text ----

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  function shapes(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function partsTable(parts) {
    const body = make("tbody");
    for (const [position, weight, share, width] of parts) {
      const colour = data.colours[position];
      const chip = make("span", { class: "chip" });
      const bar = make("i");
      const frame = make("span", { class: "bar" }, bar);
      frame.style.setProperty("--w", width + "%");
      if (colour) { chip.style.background = colour; frame.style.setProperty("--c", colour); }
      body.append(make("tr", {}, make("td", {}, chip, data.classes[position]), make("td", {}, frame),
        make("td", { class: "num" }, share), make("td", { class: "num soft" }, weight)));
    }
    return make("table", { class: "parts" }, body);
  }
  function pairsTable(pairs) {
    const rows = pairs.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
    return make("table", { class: "facts" }, make("tbody", {}, ...rows));
  }

  let whole, view;

  // ---- The picture: nodes that can be chosen, walked and folded; zoom and pan ----

  const stage = byId("stage");
  const groups = new Map(), edges = new Map(), leafNode = new Map(), folded = new Set();
  let svg, isTree, focused;
  function takePicture() {
    svg = stage.querySelector("svg");
    for (const known of [groups, edges, leafNode, folded]) known.clear();
    for (const kind of ["node", "leaf", "rule"]) {
      for (const group of svg.querySelectorAll(`[data-${kind}]`)) groups.set(Number(group.dataset[kind]), group);
    }
    for (const edge of svg.querySelectorAll("[data-edge]")) edges.set(Number(edge.dataset.edge), edge);
    isTree = data.nodes.length > 0;
    focused = null;
    data.nodes.forEach((node, i) => { if (node.rule !== undefined) leafNode.set(node.rule, i); });
    const full = svg.viewBox.baseVal;
    whole = { x: 0, y: 0, width: full.width, height: full.height };
    view = { ...whole };
  }
  const shownOf = (rule) => (isTree ? leafNode.get(rule) : rule);

  function pathTo(node) {
    const path = [];
    for (let at = node; at !== null; at = data.nodes[at].parent) path.unshift(at);
    return path;
  }
  function leavesBelow(node) {
    const below = data.nodes[node];
    return below.rule !== undefined ? 1 : below.children.reduce((sum, child) => sum + leavesBelow(child), 0);
  }
  function refold() {
    data.nodes.forEach((node, i) => {
      const group = groups.get(i);
      if (!group) return;
      const hidden = pathTo(i).slice(0, -1).some((above) => folded.has(above));
      for (const part of [group, edges.get(i)]) if (part) part.classList.toggle("gone", hidden);
      if (node.rule === undefined && group.hasAttribute("aria-expanded")) {
        group.setAttribute("aria-expanded", String(!folded.has(i)));
        group.querySelector(".knob text").textContent = folded.has(i) ? "+" : "\u2212";
      }
    });
  }
  function toggle(node) {
    if (data.nodes[node].rule !== undefined) return;
    if (!folded.delete(node)) folded.add(node);
    refold();
  }
  function focusOn(node) {
    const group = groups.get(node);
    if (!group || group.classList.contains("gone")) return;
    if (focused !== null) groups.get(focused).setAttribute("tabindex", "-1");
    focused = node;
    group.setAttribute("tabindex", "0");
    group.focus({ preventScroll: true });
  }
  function choose(node) {
    for (const group of groups.values()) group.classList.remove("chosen");
    if (groups.has(node)) groups.get(node).classList.add("chosen");
    const body = byId("detail-body");
    body.replaceChildren();
    const rule = data.rules[isTree ? data.nodes[node].rule : node];
    const words = rule ? rule.words : pathTo(node).slice(1).map((at) => data.nodes[at].words);
    const facts = rule || data.nodes[node];
    body.append(make("p", { class: "lead" }, rule ? `Predicts ${rule.answer}`
      : `Asks for ${data.features[facts.feature].name}`));
    body.append(words.length
      ? make("ol", { class: "steps" }, ...words.map((text) => make("li", {}, text)))
      : make("p", {}, rule ? "For every row." : "Every row starts here."));
    const pairs = [["covers", facts.rows], [rule ? data.lossName : `${data.lossName} below`, facts.loss]];
    if (facts.cost) pairs.push(["cost of its tests", facts.cost]);
    if (!rule) {
      pairs.push(["leaves below", String(leavesBelow(node))]);
      pairs.push(["unseen values go to", data.nodes[facts.other].branch]);
    }
    if (facts.parts && facts.parts.length) body.append(partsTable(facts.parts));
    body.append(pairsTable([...pairs, ...(facts.brings || []), ...(facts.spread || [])]));
    if (isTree && !rule && groups.get(node) && groups.get(node).hasAttribute("aria-expanded")) {
      const button = make("button", { type: "button" }, folded.has(node) ? "Expand this branch" : "Collapse this branch");
      button.addEventListener("click", () => { toggle(node); choose(node); });
      body.append(button);
    }
  }
  function neighbour(node, key) {
    const { parent, children } = data.nodes[node];
    const right = svg.dataset.grows === "right";
    const inward = right ? "ArrowRight" : "ArrowDown", outward = right ? "ArrowLeft" : "ArrowUp";
    if (key === "Home") return 0;
    if (key === inward) return folded.has(node) || !children.length ? node : children[Math.floor((children.length - 1) / 2)];
    if (key === outward) return parent === null ? node : parent;
    if (parent === null) return node;
    const siblings = data.nodes[parent].children;
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    return siblings[siblings.indexOf(node) + step] ?? node;
  }

  function enhance() {
    svg.setAttribute("role", isTree ? "tree" : "list");
    svg.setAttribute("aria-label", svg.querySelector("title").textContent);
    const root = groups.get(0), child = isTree && groups.get(data.nodes[0].children[0]);
    if (child && root) {
      const a = root.querySelector("rect").getBBox(), b = child.querySelector("rect").getBBox();
      svg.dataset.grows = b.x > a.x + a.width ? "right" : "down";
    }
    for (const [i, group] of groups) {
      const title = group.querySelector("title");
      group.setAttribute("aria-label", title ? title.textContent : "");
      group.setAttribute("tabindex", isTree ? "-1" : "0");
      group.setAttribute("role", isTree ? "treeitem" : "listitem");
      if (!isTree) {
        const box = group.getBBox();
        group.prepend(shapes("rect", { class: "hit", x: box.x, y: box.y - 8, width: box.width, height: box.height + 8 }));
      } else {
        group.setAttribute("aria-level", pathTo(i).length);
        const first = data.nodes[i].children[0];
        if (first !== undefined && groups.has(first)) addKnob(i, group);
      }
      group.addEventListener("click", (event) => {
        if (isTree && event.target.closest(".knob")) toggle(i); else choose(i);
        if (isTree) focusOn(i);
      });
      group.addEventListener("dblclick", (event) => { if (isTree && !event.target.closest(".knob")) toggle(i); });
    }
    if (isTree) { focused = 0; root.setAttribute("tabindex", "0"); }
    svg.addEventListener("keydown", (event) => {
      const group = event.target.closest("[data-node],[data-leaf],[data-rule]");
      if (!group) return;
      const at = Number(group.dataset.node ?? group.dataset.leaf ?? group.dataset.rule);
      if (event.key === "Enter") choose(at);
      else if (event.key === " " && isTree) toggle(at);
      else if (isTree && /^(Arrow(Up|Down|Left|Right)|Home)$/.test(event.key)) focusOn(neighbour(at, event.key));
      else return;
      event.preventDefault();
    });
  }
  function addKnob(i, group) {
    const box = group.querySelector("rect").getBBox();
    const [x, y] = svg.dataset.grows === "right"
      ? [box.x + box.width, box.y + box.height / 2] : [box.x + box.width / 2, box.y + box.height];
    const knob = shapes("g", { class: "knob", "aria-hidden": "true" });
    knob.append(shapes("circle", { cx: x, cy: y, r: 7 }),
      shapes("text", { x, y: y + 4, "text-anchor": "middle" }, "\u2212"));
    group.append(knob);
    group.setAttribute("aria-expanded", "true");
  }

  function show(next) {
    view = next;
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }
  // Readable first: as wide as the card, never larger than life; a picture too large for that is moved about.
  function home() {
    const room = stage.clientWidth || whole.width;
    const scale = Math.max(Math.min(1, room / whole.width), 0.5);
    const height = Math.max(Math.min(whole.height * scale, 1500), 60);
    svg.setAttribute("width", room);
    svg.setAttribute("height", height);
    const wide = room / scale, tall = height / scale;
    const root = groups.get(0).querySelector("rect").getBBox();
    const x = wide >= whole.width ? (whole.width - wide) / 2
      : svg.dataset.grows === "down" ? root.x + root.width / 2 - wide / 2 : 0;
    const y = tall < whole.height && svg.dataset.grows === "right" ? root.y + root.height / 2 - tall / 2 : 0;
    show({ x, y, width: wide, height: tall });
  }
  function fitAll() {
    const box = svg.getBoundingClientRect();
    const scale = Math.max(whole.width / box.width, whole.height / box.height);
    const [width, height] = [box.width * scale, box.height * scale];
    show({ x: (whole.width - width) / 2, y: (whole.height - height) / 2, width, height });
  }
  function zoom(factor, cx = 0.5, cy = 0.5) {
    const width = Math.min(Math.max(view.width * factor, whole.width / 12), whole.width * 4);
    const by = width / view.width;
    show({ x: view.x + view.width * (1 - by) * cx, y: view.y + view.height * (1 - by) * cy, width, height: view.height * by });
  }
  function interact() {
    stage.classList.add("live");
    home();
    window.addEventListener("resize", home);
    stage.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    }, { passive: false });
    let from = null, dragged = false;
    stage.addEventListener("pointerdown", (event) => {
      dragged = false;
      if (event.button === 0) from = { x: event.clientX, y: event.clientY, view: { ...view }, moved: false };
    });
    window.addEventListener("pointermove", (event) => {
      if (!from) return;
      const scale = view.width / svg.getBoundingClientRect().width;
      const dx = event.clientX - from.x, dy = event.clientY - from.y;
      if (!from.moved && Math.hypot(dx, dy) < 4) return;
      from.moved = true;
      stage.classList.add("moving");
      show({ ...view, x: from.view.x - dx * scale, y: from.view.y - dy * scale });
    });
    for (const end of ["pointerup", "pointercancel"]) {
      window.addEventListener(end, () => {
        dragged = from !== null && from.moved;
        from = null;
        stage.classList.remove("moving");
      });
    }
    // The end of a drag is no click.
    stage.addEventListener("click", (event) => { if (dragged) event.stopPropagation(); }, true);
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => {
        if (button.dataset.zoom === "fit") fitAll(); else zoom(button.dataset.zoom === "in" ? 1 / 1.25 : 1.25);
      });
    }
    for (const button of document.querySelectorAll("[data-fold]")) {
      button.addEventListener("click", () => {
        folded.clear();
        if (button.dataset.fold === "all") {
          data.nodes.forEach((node, i) => {
            if (node.rule === undefined && node.parent === 0) folded.add(i);
          });
          if (!folded.size && data.nodes[0].rule === undefined) folded.add(0);
        }
        refold();
      });
    }
    window.addEventListener("beforeprint", () => {
      svg.setAttribute("width", whole.width);
      svg.setAttribute("height", whole.height);
      show({ ...whole });
    });
    window.addEventListener("afterprint", home);
  }

  // ---- Try a row ----

  const NUMBER = /^[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?$/i;
  const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
  const TIME = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
  const WANTED = { date: "a date such as 2024-03-31", time: "a time such as 08:15", "": "a number" };
  // Dates are days since 1970, times hours since midnight; NaN where the text is none.
  function numberOf(text, unit) {
    if (unit === "date") {
      const found = DATE.exec(text);
      if (!found) return NaN;
      const [year, month, day, hour = 0, minute = 0, second = 0] = found.slice(1).map((part) => Number(part ?? 0));
      return Date.UTC(year, month - 1, day, hour, minute, second) / 864e5;
    }
    if (unit === "time") {
      const found = TIME.exec(text);
      return found ? Number(found[1]) + Number(found[2]) / 60 + Number(found[3] ?? 0) / 3600 : NaN;
    }
    return NUMBER.test(text) ? Number(text.replace(",", ".")) : NaN;
  }
  const inputs = [];
  function buildForm() {
    const fields = byId("fields");
    fields.replaceChildren();
    inputs.length = 0;
    data.features.forEach((feature, i) => {
      const id = `value-${i}`;
      let input;
      if (feature.cuts) {
        input = make("input", { id, type: "text", inputmode: "decimal", placeholder: "missing", "aria-describedby": `note-${i}` });
        input.value = feature.start;
      } else {
        input = make("select", { id, "aria-describedby": `note-${i}` });
        feature.levels.forEach((level, code) => input.append(make("option", { value: code }, level)));
        input.append(make("option", { value: "other" }, "another value (not in training)"));
        input.append(make("option", { value: "missing" }, "missing"));
        input.value = String(feature.start);
      }
      input.addEventListener("input", tell);
      inputs.push(input);
      fields.append(make("div", {}, make("label", { for: id }, feature.name), input,
        make("div", { class: "note", id: `note-${i}` })));
    });
    byId("form-note").textContent = data.features.length
      ? "Only features that the model uses; others do not change the answer. An empty number is a missing one."
      : "The answer is the same for every row.";
  }
  function readForm() {
    let valid = true;
    const values = data.features.map((feature, i) => {
      const input = inputs[i], text = input.value.trim();
      let note = "", value;
      if (!feature.cuts) value = text === "missing" ? null : text === "other" ? "other" : Number(text);
      else if (text === "") value = null;
      else if (Number.isFinite(numberOf(text, feature.unit))) value = numberOf(text, feature.unit);
      else { valid = false; note = `This is not ${WANTED[feature.unit]}.`; }
      if (value === null && !feature.missing) note = "Training had no missing values here.";
      input.setAttribute("aria-invalid", String(note.startsWith("This is not")));
      byId(`note-${i}`).textContent = note;
      return value;
    });
    return valid ? values : null;
  }
  // The fewest changes that give another answer; of equals the smallest, then those that lead to the most rows.
  function nearestChange(found) {
    const leadTo = (r, changes) => {
      const codes = [...found.codes];
      for (const change of changes) codes[change.i] = change.code;
      return (data.walks ? walk(codes) : nearest(codes)).rule === r;
    };
    const far = ({ i, code }) => data.features[i].cuts && found.codes[i] < data.features[i].values
      ? Math.abs(code - found.codes[i]) / data.features[i].values : 1;
    let best = null;
    for (const r of data.priority) {
      const rule = data.rules[r];
      if (rule.answer === data.rules[found.rule].answer) continue;
      // Of every condition that fails the values that would meet it, the nearest first; to become missing is no change.
      const failed = rule.if.map(([i, allowed], k) => allowed.includes(found.codes[i]) ? null
        : allowed.filter((code) => code < data.features[i].values).map((code) => ({ i, k, code })).sort((a, b) => far(a) - far(b)));
      const wanted = failed.filter((options) => options !== null);
      if (wanted.some((options) => !options.length)) continue;
      const tried = wanted.length === 1 ? wanted[0].map((change) => [change]) : [wanted.map((options) => options[0])];
      let changes = tried.find((some) => leadTo(r, some));
      if (!changes) continue;
      // Where a value was never seen, not all conditions of a leaf have to hold.
      for (const one of changes) {
        const others = changes.filter((change) => change !== one);
        if (leadTo(r, others)) changes = others;
      }
      const size = changes.reduce((sum, change) => sum + far(change), 0);
      if (!best || changes.length < best.changes.length || (changes.length === best.changes.length && size < best.size)) {
        best = { rule, changes, size };
      }
    }
    if (!best) return "";
    const words = best.changes.map(({ i, k }) => `${best.rule.words[k]} (now ${shownValue(i)})`);
    return `It would be ${best.rule.answer} with ${words.join(" and ")}.`;
  }
  function shownValue(i) {
    const input = inputs[i];
    if (input.tagName === "SELECT") return input.selectedOptions[0].textContent;
    return input.value.trim() || "missing";
  }
  function tell() {
    const values = readForm();
    const result = byId("result");
    result.replaceChildren();
    for (const part of [...groups.values(), ...edges.values(), ...document.querySelectorAll("#leaf-table tbody tr")]) {
      part.classList.remove("on-path");
    }
    if (values === null) {
      result.append(make("p", { class: "hint" }, "Give numbers where numbers are asked for, or leave them empty."));
      return;
    }
    const found = answerFor(values);
    const rule = data.rules[found.rule];
    result.append(make("p", { class: "hint" }, "The model says"), make("p", { class: "says" }, saidOf(rule, values)));
    if (rule.line && rule.line[1].length) result.append(make("p", { class: "hint" }, `by the line ${rule.answer}`));
    if (rule.parts.length) result.append(partsTable(rule.parts));
    if (rule.brings.length) result.append(pairsTable(rule.brings));
    const spread = Object.fromEntries(rule.spread);
    if (rule.spread.length) {
      result.append(make("p", { class: "hint" },
        `Half of its training rows lie between ${spread["lower quartile"]} and ${spread["upper quartile"]}.`));
    }
    const steps = make("ol", { class: "steps" });
    if (data.walks) {
      for (const step of found.steps) {
        const item = make("li", {}, `${data.features[step.feature].name}: ${shownValue(step.feature)} \u2192 ${data.nodes[step.node].branch}`);
        if (step.unseen) item.append(make("span", { class: "note" }, " (not seen here in training; follows most rows)"));
        steps.append(item);
      }
    } else {
      rule.words.forEach((words, k) => {
        const [feature, allowed] = rule.if[k];
        const item = make("li", {}, words);
        if (!allowed.includes(found.codes[feature])) item.append(make("span", { class: "note" }, ` (fails: ${shownValue(feature)})`));
        steps.append(item);
      });
      const count = data.rules.length === 1 ? "" : found.held === 1 ? `Rule ${found.rule + 1} holds.`
        : found.held > 1 ? `${found.held} rules hold; rule ${found.rule + 1} has the most rows.`
          : `No rule holds; rule ${found.rule + 1} is the nearest.`;
      if (count) result.append(make("p", { class: "hint" }, count));
    }
    result.append(steps);
    const other = nearestChange(found);
    if (other) result.append(make("p", { class: "hint" }, other));
    const end = shownOf(found.rule);
    for (const at of isTree ? pathTo(end) : [end]) {
      for (const part of [groups.get(at), edges.get(at)]) if (part) part.classList.add("on-path");
    }
    const line = document.querySelector(`#leaf-table tr[data-rule="${found.rule}"]`);
    if (line) line.classList.add("on-path");
  }

  // ---- Tables that sort ----

  function makeSortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const numeric = head.dataset.type === "number";
        const key = (row) => (numeric ? Number(row.cells[column].dataset.sort) : row.cells[column].textContent);
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => {
          const [left, right] = up ? [key(a), key(b)] : [key(b), key(a)];
          return numeric ? left - right : left.localeCompare(right, undefined, { numeric: true });
        });
        table.tBodies[0].append(...rows);
      });
    });
    table.tBodies[0].addEventListener("click", (event) => {
      choose(shownOf(Number(event.target.closest("tr").dataset.rule)));
    });
  }

  // ---- Light and dark ----

  function themes() {
    const button = byId("theme");
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    const label = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-pressed", String(isDark()));
    };
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      label();
    });
    system.addEventListener("change", label);
    label();
    byId("print").addEventListener("click", () => window.print());
  }

  // ---- Other sizes ----

  const ownPicture = stage.innerHTML, ownRows = byId("leaf-table").tBodies[0].innerHTML;
  function showModel() {
    takePicture();
    enhance();
    home();
    buildForm();
    tell();
    choose(isTree ? 0 : data.priority[0]);
  }
  function sizes() {
    const buttons = [...document.querySelectorAll("[data-size]")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const other = chosen.sizes[button.dataset.size];
        data = other || chosen;
        stage.innerHTML = other ? other.picture : ownPicture;
        byId("leaf-table").tBodies[0].innerHTML = other ? other.lines : ownRows;
        for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
        byId("size-note").textContent = button.dataset.words;
        byId("model-note").textContent = other ? `${button.dataset.words} The other sections are about the chosen model.` : "";
        showModel();
      });
    }
  }

  takePicture();
  enhance();
  interact();
  byId("form").addEventListener("submit", (event) => event.preventDefault());
  buildForm();
  tell();
  choose(isTree ? 0 : data.priority[0]);
  sizes();
  byId("detail").setAttribute("aria-live", "polite");
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  themes();
})();
