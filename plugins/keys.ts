/** A key by its name, or the character that it types. */
export type Key =
  | "up"
  | "down"
  | "page_up"
  | "page_down"
  | "home"
  | "end"
  | "enter"
  | "escape"
  | "backspace"
  | "ctrl_c"
  | { readonly char: string };

const sequences: { readonly [sequence: string]: Key } = {
  "[A": "up",
  "[B": "down",
  "[5~": "page_up",
  "[6~": "page_down",
  "[H": "home",
  "[F": "end",
  "[1~": "home",
  "[4~": "end",
  OA: "up",
  OB: "down",
  OH: "home",
  OF: "end",
};

const controls: { readonly [unit: string]: Key } = {
  "\r": "enter",
  "\n": "enter",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u0003": "ctrl_c",
  "\u0010": "up",
  "\u000e": "down",
};

/** An escape sequence (ECMA-48, or SS3 of a keypad), or one character. */
const partPattern = /\p{Cc}\[[0-9;?]*[ -/]*[@-~]|\p{Cc}O[A-Z]|[^]/gu;

/** The keys that a terminal sent. Sequences that mean none of them are passed over. Pure. */
export function keysOf(input: string): readonly Key[] {
  const keys: Key[] = [];
  for (const [part] of input.matchAll(partPattern)) {
    const key = keyOf(part);
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

function keyOf(part: string): Key | undefined {
  if (part === "\u001b") return "escape";
  if (part.startsWith("\u001b")) return sequences[part.slice(1)];
  const control = controls[part];
  if (control !== undefined) return control;
  return /\p{Cc}/u.test(part) ? undefined : { char: part };
}
