/** Query key of everything about one person, so that a change refreshes all of it. */
export function personKey(org: string, username: string) {
  return [org, 'user', username];
}
