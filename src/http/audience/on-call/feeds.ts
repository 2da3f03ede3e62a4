import { Type } from 'typebox';
import * as feeds from '../../../services/audience/on-call/feeds.ts';
import { endpoints } from '../../server/route.ts';
import { url } from '../../server/schemas.ts';

const { plain } = endpoints('On call');

const CalendarAddress = Type.Object(
  { url: url('Anyone who has it can read the shifts, until it is replaced.') },
  { $id: 'CalendarAddress' },
);

const { pastDays, aheadDays } = feeds.feedLimits;
const times = `the past ${pastDays} days and the next ${aheadDays}, as iCalendar (RFC 5545), without an account`;

export const retrieveCalendar = plain(['org', 'prj', 'schedule'], {
  id: 'retrieveCalendar',
  summary: 'Retrieve calendar address of schedule',
  description: `Calendars subscribe to the address: it has the shifts of ${times}.`,
  answer: CalendarAddress,
  handle: async ({ deps, organization, schedule, link }) => ({
    url: link(await feeds.feedPath(deps, { organizationId: organization.id, of: 'schedule', id: schedule.id })),
  }),
});

export const rotateCalendar = plain(['org', 'prj', 'schedule'], {
  id: 'rotateCalendar',
  summary: 'Replace calendar address of schedule',
  description: 'The previous address no longer works.',
  answer: CalendarAddress,
  handle: async ({ deps, organization, project, schedule, link }) => {
    const owner = { organizationId: organization.id, of: 'schedule', id: schedule.id } as const;
    return { url: link(await feeds.rotateFeed(deps, owner, `${project.slug}/${schedule.slug}`)) };
  },
});

export const retrieveUserCalendar = plain(['org', 'username'], {
  id: 'retrieveUserCalendar',
  summary: 'Retrieve calendar address of user',
  description: `All shifts of the user in the organization: ${times}.`,
  answer: CalendarAddress,
  handle: async ({ deps, organization, user, link }) => ({
    url: link(await feeds.feedPath(deps, { organizationId: organization.id, of: 'user', id: user.id })),
  }),
});

export const rotateUserCalendar = plain(['org', 'username'], {
  id: 'rotateUserCalendar',
  summary: 'Replace calendar address of user',
  description: 'The previous address no longer works.',
  answer: CalendarAddress,
  handle: async ({ deps, organization, user, link }) => {
    const owner = { organizationId: organization.id, of: 'user', id: user.id } as const;
    return { url: link(await feeds.rotateFeed(deps, owner, user.username)) };
  },
});
