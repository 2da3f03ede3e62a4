/** Under which a project's lists, and everything about one of them, are kept. */
export function listsKey(org: string, prj: string) {
  return [org, 'lists', prj];
}

export function listKey(org: string, prj: string, pk: number) {
  return [org, 'list', prj, pk];
}
