import { Type } from 'typebox';
import * as digests from '../services/digests.ts';
import { history } from './route.ts';

const maybeText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const moment = Type.String({ format: 'date-time' });

const OpenDigest = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'As its deliveries name it.' }),
    notification: maybeText('Name; null when it has been deleted.'),
    channel: maybeText('Slug; null when it has been deleted.'),
    user: maybeText('The username; null when the user has been deleted.'),
    address: Type.String(),
    key: Type.String({ description: 'What it gathers by, as JSON; empty: everything.' }),
    items: Type.Integer({ description: 'How many have gathered so far.' }),
    opened_at: moment,
    closes_at: Type.Union([moment, Type.Null()], { description: 'Null while what it is for is paused.' }),
  },
  { $id: 'OpenDigest' },
);

export const listDigests = history(['org', 'prj', 'app', 'evt'], {
  id: 'listDigests',
  summary: 'List open digests',
  description: 'What gathers at the moment, the oldest first. A digest whose message is being sent is not among them.',
  tag: 'Events',
  item: OpenDigest,
  list: async ({ deps, organization, event }, page) => {
    const rows = await digests.listDigests(deps, organization.id, event.id, page);
    return rows.map(row => ({
      ...row,
      opened_at: row.opened_at.toISOString(),
      closes_at: row.closes_at?.toISOString() ?? null,
    }));
  },
});
