/** Texts of the console: layouts. */
import type { Part } from './part.ts';

export const texts = {
  layouts: 'Layouts',
  forTheProject: (prj: Part) => `For the project ${prj}.`,
  forAllProjectsOfTheOrganization: 'For all projects of the organization.',
  preview: 'Preview',
  name: 'Name',
  messagesReferToTheLayoutBy:
    'Messages refer to the layout by its name. The layout named default is used by all other emails.',
  defaultWord: 'default',
  html: 'HTML',
  htmlWithLiquidTheMessageGoes:
    'HTML with Liquid. The message goes where {{ content }} is. {{ title }}, {{ preheader }}, {{ lang }}, {{ dir }} and all variables of the message are available.',
  versionIsInTheEditorSave: (version: Part) => `Version ${version} is in the editor. Save to make it current.`,
  sampleMessage: 'Sample message',
  createAnEventToSeeA: 'Create an event to see a preview.',
  previewWithEvent: 'Preview with event',
  layoutHistory: 'Layout history',
  helloUserFirstNameThisIs:
    'Hello {{ user.first_name }},\n\nthis is how an email looks in this layout: a paragraph with **bold words** and [a link](https://example.com).\n\n- one thing\n- another\n\n| Item | Price |\n| ---- | ----: |\n| Bell | 12.00 |\n\n[Open it](https://example.com)\n',
  layout: 'Layout',
  loadingTheLayout: 'Loading the layout',
  newLayoutIn: (prj: Part) => `New layout in ${prj}`,
  newLayout: 'New layout',
  theHtmlAroundAnEmailsMessage:
    "The HTML around an email's message: logo, colors, footer. Messages can choose a layout; all others use the one named default.",
  defaultWord2: 'Default',
  belongsTo: 'Belongs to',
  allProjects: 'All projects',
  changed: 'Changed',
  noLayoutsYet: 'No layouts yet',
  emailsUseBelfrysBuiltInLayout:
    "Emails use Belfry's built-in layout. Create a layout named default to add your logo and footer.",
  chooseAProjectAboveToSee: 'Choose a project above to see its own layouts too.',
  organizationLayoutsOnly: 'Organization layouts only',
};
