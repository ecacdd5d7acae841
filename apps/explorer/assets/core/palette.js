// @ts-check
/** Series of a picture, on white paper and in the dark. */
export const ON_WHITE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888"];
export const ON_BLACK = ["#56B4E9", "#F08A4B", "#2FC89A", "#E3A0C6", "#F0C04A", "#9AD0F5", "#A0A6AD"];
