// Elements from plain values: every text is set as text, whatever a column is called.
export function make(tag, facts = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(facts)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function choices(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, text]) => make("option", { value: JSON.stringify(value), textContent: text })),
  );
  select.value = JSON.stringify(chosen);
}

export const chosenOf = (select) => JSON.parse(select.value);
