// Runs in the page: it may use nothing from outside.
globalThis.svgOf = (height) => {
  const width = document.documentElement.clientWidth;
  const parts = [];
  const text = (value) => value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
  const px = (value) => String(Math.round(value * 10) / 10);
  const isSeen = (colour) => colour !== "transparent" && !colour.endsWith(", 0)");
  const box = (element, style) => {
    const { x, y, width: w, height: h } = element.getBoundingClientRect();
    const border = Number.parseFloat(style.borderTopWidth);
    const fill = isSeen(style.backgroundColor) ? style.backgroundColor : "none";
    const stroke = border > 0 ? style.borderTopColor : "none";
    if (w === 0 || h === 0 || y > height || (fill === "none" && stroke === "none")) return;
    const radius = px(Number.parseFloat(style.borderTopLeftRadius) || 0);
    parts.push(
      `<rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" rx="${radius}" fill="${fill}" stroke="${stroke}"/>`,
    );
  };
  const words = (node, style) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const rect = range.getBoundingClientRect();
    const value = (node.textContent ?? "").replace(/\s+/g, " ");
    if (value.trim() === "" || rect.width < 2 || rect.y > height) return;
    const size = Number.parseFloat(style.fontSize);
    const family = style.fontFamily.includes("mono") ? "monospace" : "system-ui, sans-serif";
    parts.push(
      `<text xml:space="preserve" x="${px(rect.x)}" y="${px(rect.y + rect.height / 2 + size * 0.35)}" font-size="${px(size)}" font-family="${family}" ` +
        `font-weight="${style.fontWeight}" fill="${style.color}" textLength="${px(rect.width)}" lengthAdjust="spacingAndGlyphs">${text(value)}</text>`,
    );
  };
  const walk = (element) => {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || style.clipPath !== "none") return;
    box(element, style);
    if (element instanceof HTMLCanvasElement) {
      const { x, y, width: w, height: h } = element.getBoundingClientRect();
      parts.push(`<image x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" href="${element.toDataURL()}"/>`);
    }
    for (const child of element.childNodes) {
      if (child instanceof Element) walk(child);
      else if (child.nodeType === Node.TEXT_NODE) words(child, style);
    }
  };
  walk(document.body);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${parts.join("\n")}</svg>`;
};
