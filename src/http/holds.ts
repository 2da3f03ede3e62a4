import { type TSchema, Type } from 'typebox';
import type { Permission } from '../core/permissions.ts';
import { type Held, pause, resume } from '../services/holds.ts';
import { type Call, type Found, type PlainRoute, pathOf, type Route } from './route.ts';

type Kind = Held['what'];

const Paused = Type.Object({ paused: Type.Boolean() });
const Resumed = Type.Object({
  paused: Type.Boolean(),
  released: Type.Integer({ description: 'Messages and occurrences that had been kept and are due now.' }),
});

/** A pair of routes below the path of what they pause. */
function holdRoutes(
  path: string,
  noun: string,
  what: Kind,
  permission: Permission,
  idOf: (found: Found) => number,
): Route[] {
  const route = (
    verb: 'pause' | 'resume',
    answer: TSchema,
    handle: (call: Call & Found) => Promise<unknown>,
  ): PlainRoute => ({
    method: 'POST',
    path: `${path}${verb}/`,
    permission,
    id: verb + noun,
    summary: `${verb === 'pause' ? 'Pause' : 'Resume'} ${words(noun)}`,
    description:
      verb === 'pause' ? 'Messages are kept until it is resumed; none is dropped.' : 'What was kept is sent.',
    tag: what === 'channels' ? 'Channels' : 'Events',
    status: 200,
    answer,
    handle,
  });
  return [
    route('pause', Paused, async call => {
      await pause(call.deps, call.organization.id, { what, id: idOf(call), path: pathOf(call) });
      return { paused: true };
    }),
    route('resume', Resumed, async call => ({
      paused: false,
      released: await resume(call.deps, call.organization.id, { what, id: idOf(call), path: pathOf(call) }),
    })),
  ];
}

function words(noun: string): string {
  return noun
    .replaceAll(/([A-Z])/g, ' $1')
    .trim()
    .toLowerCase();
}

export const holdingRoutes: Route[] = [
  ...holdRoutes(
    '/api/o/:org/c/:channel/',
    'OrganizationChannel',
    'channels',
    'channel:write',
    found => found.channel.id,
  ),
  ...holdRoutes(
    '/api/o/:org/p/:prj/c/:channel/',
    'ProjectChannel',
    'channels',
    'channel:write',
    found => found.channel.id,
  ),
  ...holdRoutes(
    '/api/o/:org/p/:prj/a/:app/',
    'Application',
    'applications',
    'event:write',
    found => found.application.id,
  ),
  ...holdRoutes('/api/o/:org/p/:prj/a/:app/e/:evt/', 'Event', 'events', 'event:write', found => found.event.id),
];
