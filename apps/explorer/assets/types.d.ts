/** Drawn by vendor/uPlot.iife.min.js. */
declare const uPlot: any;
