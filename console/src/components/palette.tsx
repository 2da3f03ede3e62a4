/** The command palette: any page, event, channel, user or occurrence by a few letters. */
import '@mantine/spotlight/styles.css';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight';
import { IconBellRinging, IconBolt, IconBuilding, IconSearch, IconSend, IconUser } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { api, take } from '../api.ts';
import { navEntries } from '../nav.ts';
import { to, useOrg, useProject } from '../places.ts';
import { useCan, useSession } from '../session.tsx';
import { useEvents } from './use-events.ts';

const searchDelayMs = 180;
const shownOfAKind = 6;
const icon = { size: 17, stroke: 1.6 };

export default function Palette({ wanted }: { wanted: number }) {
  const [query, setQuery] = useState('');
  const navigate = useNavigate();
  const org = useOrg();
  const can = useCan();
  const [project] = useProject();
  const { organizations } = useSession();
  useEffect(() => {
    if (wanted > 0) spotlight.open();
  }, [wanted]);

  const go = (path: string) => () => void navigate(path);
  const pages = navEntries
    .filter(entry => can(entry.permission))
    .map(entry => ({
      id: `page ${entry.label}`,
      label: entry.label,
      onClick: go(entry.path(org, project)),
      leftSection: <entry.icon {...icon} />,
    }));
  const others = organizations
    .filter(({ slug }) => slug !== org)
    .map(({ slug, name }) => ({
      id: `organization ${slug}`,
      label: name,
      description: 'Switch to this organization',
      onClick: go(to.overview(slug)),
      leftSection: <IconBuilding {...icon} />,
    }));
  const found = useFound(query.trim());
  const groups: SpotlightActionGroupData[] = [
    { group: 'Pages', actions: [...pages, ...others].filter(action => matches(query, action.label)) },
    {
      group: 'Events',
      actions: found.events
        .filter(event => matches(query, `${event.name} ${event.path}`))
        .slice(0, shownOfAKind)
        .map(({ name, path, prj, app, slug }) => ({
          id: `event ${path}`,
          label: name,
          description: path,
          onClick: go(to.event(org, prj, app, slug)),
          leftSection: <IconBolt {...icon} />,
        })),
    },
    {
      group: 'Channels',
      actions: found.channels
        .filter(channel => matches(query, `${channel.name} ${channel.slug} ${channel.type}`))
        .slice(0, shownOfAKind)
        .map(({ name, slug, type, prj }) => ({
          id: `channel ${prj}/${slug}`,
          label: name,
          description: [type, prj].filter(Boolean).join(' · '),
          onClick: go(to.channel(org, slug, prj)),
          leftSection: <IconSend {...icon} />,
        })),
    },
    {
      group: 'People',
      actions: found.users.map(({ username, first_name, last_name }) => ({
        id: `user ${username}`,
        label: `${first_name} ${last_name}`.trim() || username,
        description: username,
        onClick: go(to.person(org, username)),
        leftSection: <IconUser {...icon} />,
      })),
    },
    {
      group: 'Occurrences',
      actions: found.occurrences.map(({ identifier, event, status }) => ({
        id: `occurrence ${identifier}`,
        label: identifier,
        description: `${event} · ${status}`,
        onClick: go(to.occurrence(org, identifier)),
        leftSection: <IconBellRinging {...icon} />,
      })),
    },
  ].filter(group => group.actions.length > 0);

  return (
    <Spotlight
      actions={groups}
      // What is shown was chosen above.
      filter={(_query, actions) => actions}
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      aria-label="Search"
      yOffset="12vh"
      centered={false}
      overlayProps={{ blur: 0, backgroundOpacity: 0.3 }}
      scrollable
      maxHeight={460}
      nothingFound={found.searching ? 'Looking…' : 'Nothing found'}
      searchProps={{
        leftSection: <IconSearch {...icon} />,
        placeholder: 'Pages, events, channels, people, occurrence ids…',
        'aria-label': 'Search',
      }}
      highlightQuery
    />
  );
}

function matches(query: string, text: string): boolean {
  const folded = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => folded.includes(word));
}

/** Events and channels are few and read once; users and occurrences are many and asked for. */
function useFound(query: string) {
  const org = useOrg();
  const can = useCan();
  const [asked] = useDebouncedValue(query, searchDelayMs);
  // Identifiers begin with a time and so with a digit; names do not.
  const identified = /^[0-9][0-9a-f-]{3,35}$/i.test(asked);
  const named = asked.length > 1 && !identified;
  const configured = useEvents();
  const users = useQuery({
    queryKey: [org, 'palette-users', asked],
    enabled: named && can('user:read'),
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/o/{org}/u/', {
          params: { path: { org }, query: { search: asked, limit: shownOfAKind } },
          signal,
        }),
      ),
  });
  const occurrences = useQuery({
    queryKey: [org, 'palette-occurrences', asked],
    enabled: identified && can('occurrence:read'),
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/o/{org}/occurrence/', {
          params: { path: { org }, query: { search: asked, limit: shownOfAKind } },
          signal,
        }),
      ),
  });
  return {
    events: configured.data?.events ?? [],
    channels: configured.data?.channels ?? [],
    users: named ? (users.data ?? []) : [],
    occurrences: identified ? (occurrences.data ?? []) : [],
    searching: users.isFetching || occurrences.isFetching || asked !== query,
  };
}
