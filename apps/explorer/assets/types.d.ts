/** Drawn by vendor/uPlot.iife.min.js. */
declare const uPlot: any;
/** Of browsers since 2023; older lists of types lack it. */
declare const DecompressionStream: any;
interface Array<T> {
  findLast(found: (one: T) => unknown): T | undefined;
}
