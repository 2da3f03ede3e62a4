/** Texts of the console: layouts. */
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  layouts: 'Layouts',
  forTheProject: (prj: Part) => `For the project ${prj}.`,
  forAllProjects: 'For all projects in the organization.',
  preview: 'Preview',
  name: 'Name',
  nameHint: 'Messages refer to a layout by its name. All other emails use the layout named default.',
  defaultName: 'default',
  html: 'HTML',
  htmlHint:
    'HTML with Liquid. {{ content }} is replaced by the message. {{ title }}, {{ preheader }}, {{ lang }}, {{ dir }} and all variables of the message are available.',
  versionRestored: (version: Part) => `Version ${version} is in the editor. Save to make it current.`,
  sampleMessage: 'Sample message',
  createAnEventFirst: 'Create an event to see a preview.',
  previewWithEvent: 'Preview with event',
  layoutHistory: 'Layout history',
  sampleBody:
    'Hello {{ user.first_name }},\n\nThis is how an email looks in this layout: a paragraph with **bold text** and [a link](https://example.com).\n\n- first item\n- second item\n\n| Item | Price |\n| ---- | ----: |\n| Bell | 12.00 |\n\n[Open it](https://example.com)\n',
  layout: 'Layout',
  loadingTheLayout: 'Loading the layout',
  newLayoutIn: (prj: Part) => `New layout in ${prj}`,
  newLayout: 'New layout',
  description:
    'The HTML around an email’s message: logo, colors, footer. Messages can choose a layout; all others use the one named default.',
  defaultBadge: 'Default',
  belongsTo: 'Belongs to',
  allProjects: 'All projects',
  changed: 'Changed',
  noLayoutsYet: 'No layouts yet',
  noLayoutsHint: 'Emails use Belfry’s built-in layout. Create a layout named default to add your logo and footer.',
  chooseAProjectHint: 'Choose a project above to see its own layouts too.',
  organizationLayoutsOnly: 'Organization layouts only',
});
