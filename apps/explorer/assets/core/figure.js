// @ts-check
/** @param {any} figure @param {any} options @returns {string} */
export const figureSvg = (figure, options) => {
  throw new Error("not there yet");
};
