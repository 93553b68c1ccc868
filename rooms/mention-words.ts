/** What stands at the beginning of a text: mentions, each with the white space, comma or colon behind it. */
interface Lead {
  readonly words: readonly string[];
  /** Where the rest begins. */
  readonly end: number;
}

/**
 * The words a text names with `@`, lower case, each once, in order of first appearance. ASCII only, so that no table of
 * characters enters a digest. Not counted: what stands in code (spans, fences), in links `[text](target)`, URLs and
 * e-mail addresses, behind a backslash, and in a JSON object that is all the text but for its leading mentions.
 * Takes time linear in the text.
 */
export function mentionedWords(text: string): readonly string[] {
  if (!text.includes("@")) return [];
  const lead = leadingMentions(text);
  if (isJsonObject(text.slice(lead.end))) return [...new Set(lead.words)];
  const words = new Set<string>();
  for (const paragraph of paragraphsOutsideFences(text)) {
    // Without brackets and backticks nothing reaches over white space.
    const parts = /[[\]`]/.test(paragraph) ? [paragraph] : piecesWithMentions(paragraph);
    for (const part of parts) for (const word of wordsOfPart(part)) words.add(word);
  }
  return [...words];
}

/** What follows the mentions that a text begins with, and the white space, comma or colon behind each. */
export function afterLeadingMentions(text: string): string {
  return text.slice(leadingMentions(text).end);
}

const leading = /\s*@([A-Za-z0-9][A-Za-z0-9_-]{0,63})(?=[\s,:{]|$)[,:]?/y;
const space = /\s*/y;

function leadingMentions(text: string): Lead {
  const words: string[] = [];
  let end = 0;
  for (;;) {
    leading.lastIndex = end;
    const word = leading.exec(text)?.[1];
    if (word === undefined) break;
    end = leading.lastIndex;
    words.push(word.toLowerCase());
  }
  return { words, end: endOf(space, text, end) ?? end };
}

function isJsonObject(text: string): boolean {
  if (!text.startsWith("{") || !text.trimEnd().endsWith("}")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Text like any other that happens to stand in braces.
    return false;
  }
}

// A fence may stand in quotes and list items. Each alternative begins with other characters, so nothing is tried twice.
const fence = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}(?=[^`]*$)|~{3,})/;

function* paragraphsOutsideFences(text: string): Generator<string> {
  let open = "";
  let paragraph: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const mark = fence.exec(line)?.[1];
    if (open === "" && mark === undefined && line.trim() !== "") {
      paragraph.push(line);
      continue;
    }
    if (paragraph.length > 0) yield paragraph.join("\n");
    paragraph = [];
    if (mark === undefined) continue;
    if (open === "") open = mark;
    else if (mark.startsWith(open) && line.trimEnd().endsWith(mark)) open = "";
  }
  if (paragraph.length > 0) yield paragraph.join("\n");
}

/** The pieces between white space that hold an `@`: of most texts the smaller part. */
function* piecesWithMentions(text: string): Generator<string> {
  let end = 0;
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", end)) {
    let start = at;
    while (start > end && text.charAt(start - 1) > " ") start--;
    end = endOf(notSpace, text, at) ?? at + 1;
    yield text.slice(start, end);
  }
}

const notSpace = /\S+/y;
// What may matter in a part: a mark, or a run of characters that a URL or an e-mail address begins with.
const spot = /[@[\]`\\]|(?<![\w.%+-])(?:[\w.%+-]+(?=@|:\/\/|(?::\d{1,5})?\/)|[wW]{3}\.)/g;
const urlRest = /(?:[^\s<>"`()\]]|\([^\s<>"`()\]]*\))*/y;
const addressRest = /@[A-Za-z0-9.-]*/y;
// Behind `]`: a target without white space or in angle brackets, its round brackets in pairs, and perhaps a title.
const linkTarget =
  /\]\([ \t]?(?:<[^<>\n]*>|(?:[^\s()<\\]|\\.|\((?:[^\s()\\]|\\.)*\))*)(?:\s{1,8}(?:"[^"]*"|'[^']*'))?[ \t]?\)/y;
const mention = /@([A-Za-z0-9][A-Za-z0-9_-]{0,63})(?![A-Za-z0-9_-]|@[A-Za-z0-9])/y;

/** One pass: spans, links, URLs and addresses are stepped over whole. */
function wordsOfPart(text: string): readonly string[] {
  const words: string[] = [];
  // For each open `[`, how many words were known at it: those behind it fall away if it turns out to be a link.
  const brackets: number[] = [];
  const endOfCodeSpan = codeSpans(text);
  let at = 0;
  for (;;) {
    spot.lastIndex = at;
    const found = spot.exec(text);
    if (found === null) return words;
    at = found.index;
    if (found[0] === "@") {
      const word = mentionAt(text, at);
      if (word !== undefined) words.push(word.toLowerCase());
      at += 1 + (word?.length ?? 0);
    } else if (found[0] === "[") {
      brackets.push(words.length);
      at += 1;
    } else if (found[0] === "]") {
      const known = brackets.pop();
      const end = known === undefined ? undefined : endOf(linkTarget, text, at);
      if (end !== undefined) words.length = known ?? 0;
      at = end ?? at + 1;
    } else if (found[0] === "`") {
      at = endOfCodeSpan(at);
    } else if (found[0] === "\\") {
      at += 2;
    } else {
      at = endOfWord(text, at + found[0].length, found[0]);
    }
  }
}

/** Where a word that ends here ends with all of the URL or e-mail address that it begins. */
function endOfWord(text: string, end: number, word: string): number {
  const isAddress = text.charAt(end) === "@" && /\w$/.test(word);
  if (isAddress) return endOf(addressRest, text, end) ?? end;
  const isUrl = text.startsWith("://", end) || (word.includes(".") && text.charAt(end) !== "@");
  return isUrl ? (endOf(urlRest, text, end) ?? end) : end;
}

/** The word behind the `@` at this place, if that is a mention; URLs and addresses were stepped over before. */
function mentionAt(text: string, at: number): string | undefined {
  mention.lastIndex = at;
  const word = mention.exec(text)?.[1];
  const before = at === 0 ? " " : text.charAt(at - 1);
  if (word === undefined || /[\w@\\]/.test(before)) return undefined;
  // What touches `@` and goes on with a domain is an address whose first part is not ASCII.
  const isAddress = /\S/.test(before) && /^\.[A-Za-z0-9]/.test(text.slice(at + 1 + word.length, at + 3 + word.length));
  return isAddress ? undefined : word;
}

/** For a backtick: the end of the code span that it opens, or of its run of backticks when nothing closes it. */
function codeSpans(text: string): (at: number) => number {
  // By length of the run, the places of its runs, last one first.
  const runs = new Map<number, number[]>();
  for (const run of text.includes("`") ? [...text.matchAll(/`+/g)].reverse() : []) {
    const places = runs.get(run[0].length);
    if (places === undefined) runs.set(run[0].length, [run.index]);
    else places.push(run.index);
  }
  return (at) => {
    const end = endOf(/`+/y, text, at) ?? at + 1;
    const places = runs.get(end - at) ?? [];
    while ((places.at(-1) ?? Infinity) < end) places.pop();
    const closing = places.at(-1);
    return closing === undefined ? end : closing + (end - at);
  };
}

/** Where the match that begins at this place ends. */
function endOf(sticky: RegExp, text: string, at: number): number | undefined {
  sticky.lastIndex = at;
  return sticky.test(text) ? sticky.lastIndex : undefined;
}
