/** One place at which two states differ. */
export interface StateChange {
  /** Where: keys with dots between them, entries of lists by their id in brackets, `tasks[k-1].status`. */
  readonly path: string;
  readonly op: "added" | "removed" | "changed";
  /** null of what was added. */
  readonly old: unknown;
  /** null of what was removed. */
  readonly new: unknown;
}

/** By list: the field that tells its entries apart. Lists of other names go by place. */
const idFields: { readonly [list: string]: string } = {
  threads: "thread_id",
  members: "member_id",
  tasks: "task_id",
  seen: "thread_id",
  turns: "member_id",
  spoke: "member_id",
  named: "word",
  transcript: "row",
};

/**
 * What differs between two values of JSON, by path, in the order of the keys (UTF-16 units), so the same values give the same
 * list on every machine. Entries of lists that have ids are compared by id: one that moved is no change. Pure.
 */
export function stateDiff(before: unknown, after: unknown): readonly StateChange[] {
  return changesAt({ path: "", name: "" }, before, after);
}

interface Place {
  readonly path: string;
  /** The key of the value. */
  readonly name: string;
}

function changesAt(place: Place, before: unknown, after: unknown): readonly StateChange[] {
  const idField = commonIdField(place.name, before, after);
  const [old, now] = [childrenOf(before, idField), childrenOf(after, idField)];
  if (old === null || now === null || old.isList !== now.isList) {
    return isSame(before, after) ? [] : [{ path: place.path, op: "changed", old: before, new: after }];
  }
  const keys = [...new Set([...old.entries.keys(), ...now.entries.keys()])];
  if (!old.isList) keys.sort();
  return keys.flatMap((key): readonly StateChange[] => {
    const child = { path: pathOf(place.path, key, old.isList), name: old.isList ? "" : key };
    const [was, is] = [old.entries.get(key), now.entries.get(key)];
    if (!old.entries.has(key)) return [{ path: child.path, op: "added", old: null, new: is }];
    if (!now.entries.has(key)) return [{ path: child.path, op: "removed", old: was, new: null }];
    return changesAt(child, was, is);
  });
}

/** The field by which entries of both lists are told apart; undefined when ids are missing or shared: then places do. */
function commonIdField(name: string, before: unknown, after: unknown): string | undefined {
  const field = Object.hasOwn(idFields, name) ? idFields[name] : undefined;
  const areTold = [before, after].every((list) => {
    if (!Array.isArray(list)) return false;
    const ids = (list as readonly unknown[]).map((entry) => idOf(entry, field));
    return !ids.includes(undefined) && new Set(ids).size === ids.length;
  });
  return areTold ? field : undefined;
}

interface Children {
  readonly isList: boolean;
  readonly entries: ReadonlyMap<string, unknown>;
}

/** null of a value that has none. */
function childrenOf(value: unknown, idField: string | undefined): Children | null {
  if (typeof value !== "object" || value === null) return null;
  if (!Array.isArray(value)) return { isList: false, entries: new Map(Object.entries(value)) };
  const list = value as readonly unknown[];
  return { isList: true, entries: new Map(list.map((entry, index) => [idOf(entry, idField) ?? String(index), entry])) };
}

function idOf(entry: unknown, field: string | undefined): string | undefined {
  if (field === undefined || typeof entry !== "object" || entry === null) return undefined;
  const id = (entry as { readonly [key: string]: unknown })[field];
  return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
}

function pathOf(path: string, key: string, isEntry: boolean): string {
  if (isEntry) return `${path}[${key}]`;
  return path === "" ? key : `${path}.${key}`;
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
