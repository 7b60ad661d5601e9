// What every page does: secrets of forms, toasts, keys, copying, and charts where there are some.
import { listen } from "./keys.js";
import { drawIn } from "./charts.js";
import { restoreTyped } from "./drafts.js";

document.addEventListener("htmx:configRequest", (event) => {
  const token = document.querySelector('meta[name="csrf"]')?.content;
  if (token && event.detail.verb !== "get") event.detail.headers["X-CSRF-Token"] = token;
});

export function toast(text) {
  const place = document.getElementById("toasts");
  const made = document.createElement("div");
  made.className = "desk-toast";
  made.textContent = text;
  place.append(made);
  setTimeout(() => made.remove(), 6000);
}

document.addEventListener("click", async (event) => {
  const dismissed = event.target.closest("[data-dismiss]");
  if (dismissed) dismissed.closest("[data-toast]")?.remove();
  const copied = event.target.closest("[data-copy]");
  if (copied) {
    await navigator.clipboard?.writeText(copied.dataset.copy);
    copied.classList.add("desk-copied");
    setTimeout(() => copied.classList.remove("desk-copied"), 1500);
  }
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
});

// A form with data-confirm asks once more before it is sent.
document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// A field with data-submit sends its form when it changes.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form?.requestSubmit();
});

listen();
drawIn(document);
restoreTyped();
document.addEventListener("htmx:afterSettle", (event) => drawIn(event.target));
