// Questions to the studio's own server; the token is in the address of the page and goes nowhere else.
const token = new URLSearchParams(location.search).get("token") ?? "";
let name = sessionStorage.getItem("omtree-window");

async function answer(response) {
  if (response.ok) return response.json();
  let sentence = "The studio did not understand that.";
  try {
    sentence = (await response.json()).fault ?? sentence;
  } catch {
    if (response.status === 403) sentence = "The token is missing or wrong; open the address that the terminal shows.";
  }
  throw new Error(sentence);
}

export async function ask(path) {
  return answer(await fetch(path, { headers: { "X-Omtree-Token": token } }));
}

export async function tell(path, content) {
  const headers = { "X-Omtree-Token": token, "Content-Type": "application/json" };
  return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify({ ...content, window: name }) }));
}

// A copy of a tab brings the name of its window along; only one page may hold it.
async function isMine(claimed) {
  if (!claimed || !navigator.locks) return Boolean(claimed);
  for (let trial = 0; trial < 8; trial++) {
    const held = await new Promise((resolve) => {
      navigator.locks.request(`omtree ${claimed}`, { ifAvailable: true }, (lock) => {
        resolve(Boolean(lock));
        return lock ? new Promise(() => {}) : undefined;
      });
    });
    if (held) return true;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  return false;
}

export async function enter() {
  if (!(await isMine(name))) name = null;
  const before = name;
  const snapshot = await tell("/api/enter", {});
  name = snapshot.window;
  sessionStorage.setItem("omtree-window", name);
  if (name !== before) await isMine(name);
  return snapshot;
}

export function listen(show, lost) {
  const stream = new EventSource(`/api/events?${query({})}`);
  stream.onmessage = (event) => show(JSON.parse(event.data));
  stream.onerror = lost;
}

export function query(more) {
  return new URLSearchParams({ token, window: name ?? "", ...more }).toString();
}
