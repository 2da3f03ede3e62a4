/** Reading what an organization is made of. */
export { listApplications } from '../db/applications.ts';
export { listChannels } from '../db/channels.ts';
export { listEvents } from '../db/events.ts';
export { listProjects } from '../db/projects.ts';
