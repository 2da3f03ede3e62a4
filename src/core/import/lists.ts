/** Distribution lists: teams, and the users of each step. */
import { makeUnique, nameOf } from './names.ts';

interface List {
  name: string;
  /** Emails. */
  members: string[];
}

interface Team extends List {
  id: string;
}

export function makeLists(teams: readonly Team[]) {
  const unique = makeUnique(' ');
  const lists: List[] = [];
  const byMembers = new Map<string, List>();
  const add = (name: string, members: readonly string[]): List => {
    const list = { name: unique(name), members: [...members] };
    const key = members.join(' ');
    if (!byMembers.has(key)) byMembers.set(key, list);
    lists.push(list);
    return list;
  };
  const byTeam = new Map(teams.map(({ id, name, members }) => [id, add(nameOf(name, 'Team'), members)]));
  return {
    all: () => lists,
    /** Returns the name of the team's list; undefined if it has no members. */
    teamList: (id: string) => {
      const list = byTeam.get(id);
      return list && list.members.length > 0 ? list.name : undefined;
    },
    /** Returns the name of a list with these users; undefined if there are none. */
    listOf: (members: readonly string[]) =>
      members.length > 0
        ? (byMembers.get(members.join(' ')) ?? add(nameOf(members.join(', '), 'Users'), members)).name
        : undefined,
  };
}
