/** Texts by key, in namespaces that know nothing of each other. */
export interface NamedValues {
  /** undefined when there is none. */
  get(namespace: string, key: string): Promise<string | undefined>;
  /**
   * Durable once it resolves.
   * @param most of the whole namespace, this entry with it: keys, and bytes of UTF-8 of keys and values
   * @returns `full` when it would hold more than that; then nothing has changed
   * @throws RoomtapError `invalid_params` for a text that would come back different
   */
  set(
    entry: { readonly namespace: string; readonly key: string; readonly value: string },
    most: { readonly keys: number; readonly bytes: number },
  ): Promise<"stored" | "full">;
  /** Whether there was one. */
  delete(namespace: string, key: string): Promise<boolean>;
  /** Those that begin with `prefix`, in the order of their code points. */
  keys(namespace: string, prefix: string): Promise<readonly string[]>;
}
