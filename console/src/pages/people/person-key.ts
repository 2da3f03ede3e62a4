/** Under which everything about one person is kept, so that a change refreshes all of it. */
export function personKey(org: string, username: string) {
  return [org, 'user', username];
}
