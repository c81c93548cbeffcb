"use strict";
// Tables sort and filter, systems are switched on and off, figures tell their values at once.

const number = (text) => {
  const found = text.replaceAll(",", "").match(/^[<>~]?\s*([+-]?[0-9.]+(?:e[+-]?[0-9]+)?)/i);
  return found ? parseFloat(found[1]) : text === "inf" ? Infinity : NaN;
};

function compared(one, other) {
  const [a, b] = [number(one), number(other)];
  if (isNaN(a) !== isNaN(b)) return isNaN(a) ? 1 : -1; // what is no number stands last
  return isNaN(a) ? one.localeCompare(other) : a - b;
}

function sortable(table) {
  const body = table.tBodies[0];
  const first = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent || "name";
    if (!head.textContent) button.className = "unseen";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const order = next[head.getAttribute("aria-sort") || "none"];
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      if (order !== "none") head.setAttribute("aria-sort", order);
      const sign = order === "descending" ? -1 : 1;
      const text = (row) => row.cells[column].textContent;
      const rows = order === "none" ? first : [...first].sort((a, b) => sign * compared(text(a), text(b)));
      body.append(...rows);
    });
  });
}

function searchable(table) {
  const field = document.createElement("input");
  field.type = "search";
  field.className = "filter";
  field.placeholder = "filter rows";
  field.setAttribute("aria-label", "Filter the rows of " + table.caption.textContent);
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of table.tBodies[0].rows) {
      row.classList.toggle("unmatched", !row.textContent.toLowerCase().includes(wanted));
      shown(row);
    }
  });
  table.parentElement.before(field);
}

const off = new Set();
function shown(element) {
  element.hidden = off.has(element.dataset.system) || element.classList.contains("unmatched");
}

for (const table of document.querySelectorAll("table")) {
  if (table.tHead) sortable(table);
  if (table.classList.contains("long")) searchable(table);
}

for (const box of document.querySelectorAll(".systems")) {
  box.hidden = false;
  box.addEventListener("change", (event) => {
    off[event.target.checked ? "delete" : "add"](event.target.value);
    document.querySelectorAll("[data-system]").forEach(shown);
  });
}

const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
for (const area of document.querySelectorAll(".tip")) {
  const title = area.querySelector("title");
  area.setAttribute("aria-label", title.textContent);
  title.remove(); // or the browser would show it as well, later
}
document.addEventListener("pointermove", (event) => {
  const area = event.target.closest && event.target.closest(".tip");
  tip.hidden = !area;
  if (!area) return;
  tip.textContent = area.getAttribute("aria-label");
  const wide = document.documentElement.clientWidth;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, wide - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 10) + "px";
});
