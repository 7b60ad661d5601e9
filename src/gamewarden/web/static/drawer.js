// An account in short beside the list: v or a click on its row opens it, j and k go on to the next, Escape closes it.
const drawer = document.getElementById("drawer");
const body = drawer?.querySelector("[data-drawer]");
const current = () => document.querySelector("[data-row][data-current]");

function show(row) {
  if (!row) return;
  drawer.hidden = false;
  if (body.dataset.drawer === row.dataset.look) return;
  body.dataset.drawer = row.dataset.look;
  window.htmx.ajax("GET", row.dataset.look, { target: body }).then(() => { drawer.scrollTop = 0; });
}

function close() {
  drawer.hidden = true;
  current()?.querySelector("a")?.focus({ preventScroll: true });
}

function choose(row) {
  current()?.removeAttribute("data-current");
  row.setAttribute("data-current", "");
  show(row);
}

if (drawer) {
  document.querySelector("[data-rows]").addEventListener("click", (event) => {
    if (!event.target.closest("a, input, button, label") && !window.getSelection().toString()) choose(event.target.closest("[data-row]") ?? current());
  });
  drawer.querySelector("[data-drawer-close]").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches?.("input:not([type=checkbox]), textarea, select")) return;
    if (event.key === "Escape" && !drawer.hidden) close();
    if (document.body.dataset.shortcuts === "off") return;
    if (event.key === "v") { if (drawer.hidden) show(current() ?? document.querySelector("[data-row]")); else close(); }
    if ((event.key === "j" || event.key === "k") && !drawer.hidden) setTimeout(() => show(current()));
  });
}
