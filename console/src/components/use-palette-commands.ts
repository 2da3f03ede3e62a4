/** Commands of the palette that act on an event or occurrence: trigger, pause, resume and acknowledge. */
import { type Icon, IconBolt, IconHandStop, IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../api.ts';
import { pausePermission, pauseResource } from '../events/resource-api.ts';
import { to, useOrg } from '../paths.ts';
import { askToPause } from '../pauses/pause-dialog.tsx';
import { resume } from '../pauses/resume.ts';
import { usePauses } from '../pauses/use-pauses.ts';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/common.ts';
import { texts as eventTexts } from '../texts/events.ts';
import { texts as pauseTexts } from '../texts/pauses.ts';
import { texts as responseTexts } from '../texts/responses.ts';
import { useAction } from './actions.tsx';
import { useEvents } from './use-events.ts';

export interface Command {
  id: string;
  label: string;
  description?: string;
  icon: Icon;
  run: () => void;
}

const maxWaiting = 10;

/** Nothing is requested until something is typed. */
export function usePaletteCommands(go: (path: string) => () => void, isSearching: boolean): Command[] {
  const org = useOrg();
  const can = useCan();
  const canPause = can(pausePermission);
  const events = useEvents().data?.events ?? [];
  const pauses = usePauses({ enabled: canPause && isSearching }).filter(({ kind }) => kind === 'event');
  const waiting = useQuery({
    ...read('/api/o/{org}/occurrence/', { path: { org }, query: { unacknowledged: true, limit: maxWaiting } }),
    enabled: can('occurrence:write') && isSearching,
  });
  const act = useAction({
    run: async ({ send }: { send: () => Promise<unknown>; done: string }) => send(),
    done: (_, { done }) => done,
    refresh: ['/api/o/{org}/'],
  });
  const acknowledge = (waiting.data ?? []).map(({ identifier, event }) => ({
    id: `acknowledge ${identifier}`,
    label: responseTexts.acknowledgeEvent(event ?? texts.deletedEvent),
    description: identifier,
    icon: IconHandStop,
    run: () => {
      const params = { path: { org, identifier } };
      const send = () => take(api.POST('/api/o/{org}/occurrence/{identifier}/acknowledge/', { params }));
      act.mutate({ send, done: responseTexts.acknowledgedToast });
    },
  }));
  const trigger = events.map(({ name, path, prj, app, slug }) => ({
    id: `trigger ${path}`,
    label: eventTexts.triggerEvent(name),
    description: path,
    icon: IconBolt,
    run: go(`${to.event(org, prj, app, slug)}?trigger`),
  }));
  const pause = events.map(({ name, path, prj, app, slug: evt }) => {
    const paused = pauses.find(one => one.path === path);
    return paused
      ? {
          id: `resume ${path}`,
          label: pauseTexts.resumePath(name),
          description: path,
          icon: IconPlayerPlay,
          run: () => act.mutate({ send: () => resume(org, paused), done: eventTexts.resumedToast(name) }),
        }
      : {
          id: `pause ${path}`,
          label: eventTexts.pauseEvent(name),
          description: path,
          icon: IconPlayerPause,
          run: () => askToPause({ name, run: body => pauseResource({ org, prj, app, evt }, body) }),
        };
  });
  return [...acknowledge, ...(can('event:trigger') ? trigger : []), ...(canPause ? pause : [])];
}
