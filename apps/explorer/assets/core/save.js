// @ts-check
// Files that a reader keeps.
import { element } from "./dom.js";

/** @param {string} name @param {BlobPart} content @param {string} type */
export const save = (name, content, type) => {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

/** @param {any[][]} rows */
export const csv = (rows) => {
  const cell = (x) => (/[",\n]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : x);
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
};

/**
 * An image of SVG text, drawn at twice its size.
 * @param {string} name
 * @param {string} text
 */
export const savePng = async (name, text) => {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(name, await new Promise((resolve) => canvas.toBlob(resolve, "image/png")), "image/png");
};
