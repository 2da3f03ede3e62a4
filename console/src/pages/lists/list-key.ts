/** Query keys of a project's lists and of everything about one list. */
export function listsKey(org: string, prj: string) {
  return [org, 'lists', prj];
}

export function listKey(org: string, prj: string, pk: number) {
  return [org, 'list', prj, pk];
}
