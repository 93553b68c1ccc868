/** `1 row`, `2 rows`: a number with what it counts. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
