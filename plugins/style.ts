/** By look: the SGR codes (ECMA-48) that turn it on and off again. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
} as const;

/** How a piece of text may look on a terminal. */
export type Look = keyof typeof codes;

/** Gives text a look, or leaves it as it is. Texts that others wrote are made harmless before: see `terminalText`. */
export type Style = (look: Look, text: string) => string;

/** Leaves text as it is. */
export const plainStyle: Style = (_, text) => text;

/** Gives text its look. */
export const colouredStyle: Style = (look, text) => {
  const [on, off] = codes[look];
  return text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
};

/**
 * Decides once whether output has colours. NO_COLOR stands above all (https://no-color.org); FORCE_COLOR, unless it is 0 or
 * false, above the rest; then a terminal has them that does not call itself dumb. An empty variable says nothing.
 */
export function styleFor(about: {
  readonly isTerminal: boolean;
  readonly environment: { readonly [name: string]: string | undefined };
}): Style {
  const { NO_COLOR: none = "", FORCE_COLOR: forced = "", TERM: kind } = about.environment;
  if (none !== "") return plainStyle;
  if (forced !== "") return forced === "0" || forced === "false" ? plainStyle : colouredStyle;
  return about.isTerminal && kind !== "dumb" ? colouredStyle : plainStyle;
}
