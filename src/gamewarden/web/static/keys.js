// Keys: whatever has data-key="x" is pressed by x; data-go="a" is reached by g a; ? lists them all.
// Within [data-rows], j and k move between [data-row]; o or Enter opens the row's first link.
const TYPING = "input, textarea, select, [contenteditable]";
let going = false;

const shown = (one) => one.offsetParent !== null || one.closest("[data-toast]");
const pressable = (key) => [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key && shown(one));

function move(step) {
  const rows = [...document.querySelectorAll("[data-rows] [data-row]")];
  if (!rows.length) return false;
  const at = rows.findIndex((row) => row.hasAttribute("data-current"));
  const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
  rows[at]?.removeAttribute("data-current");
  next.setAttribute("data-current", "");
  (next.querySelector("a, button, input") ?? next).focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function open() {
  const row = document.querySelector("[data-rows] [data-row][data-current]");
  row?.querySelector("a")?.click();
  return Boolean(row);
}

function help() {
  const dialog = document.getElementById("keys");
  const list = dialog?.querySelector("[data-keys-help]");
  if (!list) return;
  list.replaceChildren();
  const add = (key, text) => {
    const term = document.createElement("dt");
    const kbd = document.createElement("kbd");
    kbd.textContent = key;
    term.append(kbd);
    const told = document.createElement("dd");
    told.textContent = text;
    list.append(term, told);
  };
  for (const one of document.querySelectorAll("template[data-key-help]")) add(one.dataset.keyHelp, one.content.textContent.trim());
  const seen = new Set();
  for (const one of document.querySelectorAll("[data-key]")) {
    if (seen.has(one.dataset.key) || !shown(one)) continue;
    seen.add(one.dataset.key);
    add(one.dataset.key, one.dataset.help ?? one.getAttribute("aria-label") ?? one.textContent.trim());
  }
  for (const one of document.querySelectorAll(".desk-nav [data-go]")) add(`g ${one.dataset.go}`, one.textContent.trim());
  dialog.showModal();
}

function press(event) {
  const key = event.key;
  if (going) {
    going = false;
    const page = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    if (page) { page.click(); return true; }
    return false;
  }
  if (key === "?") { help(); return true; }
  const found = pressable(key);
  if (found) {
    if (found.matches("input:not([type=checkbox]):not([type=radio]), textarea, select")) found.focus();
    else found.click();
    return true;
  }
  if (key === "/") { const search = document.querySelector("[type=search]"); search?.focus(); return Boolean(search); }
  if (key === "g") { going = true; setTimeout(() => { going = false; }, 1500); return true; }
  if (key === "j") return move(1);
  if (key === "k") return move(-1);
  if (key === "o") return open();
  return false;
}

export function listen() {
  if (document.body.dataset.shortcuts === "off") return;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest?.(TYPING) && event.target.type !== "checkbox" && event.target.type !== "radio") {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (press(event)) event.preventDefault();
  });
}
