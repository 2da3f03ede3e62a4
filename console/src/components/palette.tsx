/** The command palette: finds any page, resource or action by a few letters. */
import { dotted } from '../texts/isolated.ts';
import '@mantine/spotlight/styles.css';
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight';
import {
  IconAddressBook,
  IconBellRinging,
  IconBolt,
  IconBook2,
  IconBuilding,
  IconFolder,
  IconHelp,
  IconKeyboard,
  IconLayout,
  IconLogout,
  IconMoon,
  IconPlus,
  IconSearch,
  IconUser,
  IconUserCircle,
} from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { areas, pathOf } from '../areas.ts';
import { getChannelType } from '../channel-types.ts';
import { to, useOrg, useProject } from '../paths.ts';
import { useCan, useSession } from '../session.tsx';
import { texts } from '../texts/common.ts';
import { NewOrganization } from '../welcome/new-organization.tsx';
import { openShortcutHelp } from './shortcuts.tsx';
import { occurrenceStates } from './statuses.ts';
import { type Command, usePaletteCommands } from './use-palette-commands.ts';
import { usePaletteSearch } from './use-palette-search.ts';
import { useSignOut } from './use-sign-out.ts';

const maxPerGroup = 6;

export default function Palette({ openCount }: { openCount: number }) {
  const [query, setQuery] = useState('');
  const [creating, setCreating] = useState(false);
  const org = useOrg();
  useEffect(() => {
    if (openCount > 0) spotlight.open();
  }, [openCount]);
  const navigate = useNavigate();
  const go = (path: string) => () => void navigate(path);
  const found = usePaletteSearch(query.trim());
  const pages = usePages(go);
  const actions = useActions(go, () => setCreating(true));
  const commands = usePaletteCommands(go, query !== '');

  const groups: [title: string, entries: Command[], isFiltered?: boolean][] = [
    [texts.pages, pages],
    [texts.actions, actions],
    [
      texts.projects,
      found.projects.map(({ slug, name }) => ({
        id: `project ${slug}`,
        label: name,
        description: slug,
        icon: IconFolder,
        run: go(to.events(org, slug)),
      })),
    ],
    [
      texts.events,
      found.events.map(({ name, path, prj, app, slug }) => ({
        id: `event ${path}`,
        label: name,
        description: path,
        icon: IconBolt,
        run: go(to.event(org, prj, app, slug)),
      })),
    ],
    [texts.eventCommands, commands],
    [
      texts.channels,
      found.channels.map(({ name, slug, type, prj }) => ({
        id: `channel ${prj}/${slug}`,
        label: name,
        description: dotted(getChannelType(type).name, slug, prj),
        icon: getChannelType(type).icon,
        run: go(to.channel(org, slug, prj)),
      })),
    ],
    [
      texts.lists,
      found.lists.map(({ id, name, prj }) => ({
        id: `list ${id}`,
        label: name,
        description: prj,
        icon: IconAddressBook,
        run: go(to.list(org, prj, id)),
      })),
    ],
    [
      texts.layouts,
      found.layouts.map(({ id, name, prj }) => ({
        id: `layout ${prj}/${id}`,
        label: name,
        description: prj ?? undefined,
        icon: IconLayout,
        run: go(to.layout(org, id, prj)),
      })),
    ],
    ...found.collections.map(({ area, rows }): [string, Command[]] => [
      area.label,
      rows.map(({ path, ...row }) => ({ ...row, icon: area.icon, run: go(path) })),
    ]),
    [
      texts.users,
      found.users.map(({ username, first_name, last_name }) => ({
        id: `user ${username}`,
        label: `${first_name} ${last_name}`.trim() || username,
        description: username,
        icon: IconUser,
        run: go(to.user(org, username)),
      })),
      true,
    ],
    [
      texts.occurrences,
      found.occurrences.map(({ identifier, event, outcome, state }) => ({
        id: `occurrence ${identifier}`,
        label: identifier,
        description: `${event ?? texts.deletedEvent} · ${occurrenceStates[state]?.name ?? outcome}`,
        icon: IconBellRinging,
        run: go(to.occurrence(org, identifier)),
      })),
      true,
    ],
  ];
  const shown: SpotlightActionGroupData[] = groups
    .map(([group, entries, isFiltered = false]) => ({
      group,
      actions: entries
        .filter(entry => isFiltered || matches(query, `${entry.label} ${entry.description ?? ''}`))
        // Without a query, only pages and actions are listed.
        .slice(0, query || group === texts.pages || group === texts.actions ? 20 : 0)
        .slice(0, group === texts.pages || group === texts.actions ? 20 : maxPerGroup)
        .map(({ id, label, description, icon: Icon, run }) => ({
          id,
          label,
          description,
          onClick: run,
          leftSection: <Icon size={17} stroke={1.6} />,
        })),
    }))
    .filter(group => group.actions.length > 0);
  const ids = shown.flatMap(group => group.actions.map(({ id }) => id)).join();
  // The library selects the first entry when the query changes. Results that arrive later would leave Enter without effect.
  // biome-ignore lint/correctness/useExhaustiveDependencies: looks at the entries again when they change
  useEffect(() => {
    if (!query || document.querySelector('.mantine-Spotlight-action[data-selected]')) return;
    document.querySelector('.mantine-Spotlight-action')?.setAttribute('data-selected', 'true');
  }, [query, ids]);

  return (
    <>
      <Spotlight
        actions={shown}
        // The actions are filtered above already.
        filter={(_query, actions) => actions}
        query={query}
        onQueryChange={setQuery}
        shortcut={null}
        aria-label={texts.search}
        yOffset="12vh"
        centered={false}
        overlayProps={{ blur: 0, backgroundOpacity: 0.3 }}
        scrollable
        maxHeight={460}
        nothingFound={found.searching ? texts.searching : texts.noResults}
        searchProps={{
          leftSection: <IconSearch size={17} stroke={1.6} />,
          placeholder: texts.searchPlaceholder,
          'aria-label': texts.search,
        }}
        highlightQuery
      />
      {creating && <NewOrganization close={() => setCreating(false)} />}
    </>
  );
}

type Go = (path: string) => () => void;

function usePages(go: Go): Command[] {
  const org = useOrg();
  const can = useCan();
  const [project] = useProject();
  const { organizations } = useSession();
  const pages = areas
    .filter(area => can(area.permission))
    .map(area => ({
      id: `page ${area.label}`,
      label: area.label,
      icon: area.icon,
      run: go(pathOf(area, org, project)),
    }));
  const others = organizations
    .filter(({ slug }) => slug !== org)
    .map(({ slug, name }) => ({
      id: `organization ${slug}`,
      label: name,
      description: texts.switchToThisOrganization,
      icon: IconBuilding,
      run: go(to.overview(slug)),
    }));
  return [
    ...pages,
    { id: 'page account', label: texts.yourAccount, icon: IconUserCircle, run: go(to.account(org)) },
    ...others,
  ];
}

function useActions(go: Go, createOrganization: () => void): Command[] {
  const org = useOrg();
  const can = useCan();
  const [project] = useProject();
  const { account } = useSession();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const other = scheme === 'dark' ? 'light' : 'dark';
  const signOut = useSignOut();
  const creations = areas.flatMap(({ create = [] }) => create).filter(({ permission }) => can(permission));
  const own: Omit<Command, 'id'>[] = [
    ...creations.map(({ label, icon = IconPlus, path }) => ({ label, icon, run: go(path(org, project)) })),
    ...(account.admin ? [{ label: texts.newOrganization, icon: IconBuilding, run: createOrganization }] : []),
    { label: texts.switchToMode(other), icon: IconMoon, run: () => setColorScheme(other) },
    { label: texts.keyboardShortcuts, icon: IconKeyboard, run: openShortcutHelp },
    { label: texts.guides, icon: IconHelp, run: () => location.assign('/docs/guides') },
    { label: texts.apiReference, icon: IconBook2, run: () => location.assign('/docs') },
    { label: texts.signOut, icon: IconLogout, run: () => void signOut() },
  ];
  return own.map(({ label, icon, run }) => ({ id: `action ${label}`, label, icon, run }));
}

function matches(query: string, text: string): boolean {
  const folded = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => folded.includes(word));
}
