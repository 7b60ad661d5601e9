// Choosing accounts of the list: by mouse, by x and shift-x, all on the page, or all that match.
const conditions = document.getElementById("facets");
if (conditions) conditions.open = window.innerWidth >= 1200 || (conditions.open && window.innerWidth >= 768);

const form = document.getElementById("acts");

if (form) {
  const boxes = [...form.querySelectorAll('input[name="actors"]')];
  const page = form.querySelector("[data-all]");
  const everybody = form.querySelector("#everybody");
  const told = form.querySelector("[data-chosen]");
  let last = -1;

  const tell = () => {
    if (!told) return;
    const count = everybody?.checked ? Number(form.dataset.total) : boxes.filter((box) => box.checked).length;
    const number = new Intl.NumberFormat(document.documentElement.lang).format(count);
    told.textContent = count ? told.dataset.some.replace("{n}", number) : told.dataset.none;
    if (page) {
      const some = boxes.filter((box) => box.checked).length;
      page.checked = some === boxes.length;
      page.indeterminate = some > 0 && some < boxes.length;
    }
  };

  const choose = (at, range) => {
    if (range && last >= 0) {
      const on = boxes[last].checked;
      for (let step = Math.min(last, at); step <= Math.max(last, at); step += 1) boxes[step].checked = on;
    }
    last = at;
    tell();
  };

  boxes.forEach((box, at) => box.addEventListener("click", (event) => choose(at, event.shiftKey)));
  page?.addEventListener("change", () => { for (const box of boxes) box.checked = page.checked; tell(); });
  everybody?.addEventListener("change", () => { for (const box of boxes) box.disabled = everybody.checked; tell(); });
  form.addEventListener("submit", (event) => {
    if (!everybody?.checked && !boxes.some((box) => box.checked)) { event.preventDefault(); boxes[0]?.focus(); }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.body.dataset.shortcuts === "off") return;
    if (event.target.matches?.("input:not([type=checkbox]), textarea, select") || document.querySelector("dialog[open]")) return;
    if (event.key !== "x" && event.key !== "X") return;
    const row = form.querySelector("[data-row][data-current]");
    const at = row ? boxes.indexOf(row.querySelector('input[name="actors"]')) : -1;
    if (at < 0) return;
    event.preventDefault();
    if (event.key === "x") boxes[at].checked = !boxes[at].checked;
    choose(at, event.key === "X");
  });
  tell();
}
