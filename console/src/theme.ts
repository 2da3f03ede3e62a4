/** Theme: warm grays, one accent color, system fonts, small radii. Light and dark meet WCAG AA contrast. */
import {
  Alert,
  Badge,
  Button,
  type CSSVariablesResolver,
  createTheme,
  Drawer,
  type MantineColorsTuple,
  Modal,
  Notification,
  NumberInput,
  Table,
  Tooltip,
} from '@mantine/core';

const copper: MantineColorsTuple = [
  '#fdf3ec',
  '#f8e2d2',
  '#f0c5a6',
  '#e8a577',
  '#de8348',
  '#c8672a',
  '#b4531a',
  '#a4470f',
  '#853a0d',
  '#662c0b',
];

const gray: MantineColorsTuple = [
  '#faf9f7',
  '#f3f1ee',
  '#e8e5e0',
  '#d9d5ce',
  '#bfb9b0',
  '#98918a',
  '#6f6861',
  '#544e48',
  '#37322e',
  '#1f1c1a',
];

const dark: MantineColorsTuple = [
  '#e9e5e0',
  '#cfc9c2',
  '#aaa29a',
  '#7d766f',
  '#4a4540',
  '#37332f',
  '#2a2724',
  '#1b1917',
  '#151311',
  '#0f0e0c',
];

export const fontMonospace = 'ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

export const theme = createTheme({
  primaryColor: 'copper',
  primaryShade: { light: 7, dark: 6 },
  autoContrast: true,
  colors: { copper, gray, dark },
  black: gray[9],
  fontFamily:
    'Inter, -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif',
  fontFamilyMonospace: fontMonospace,
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.25rem', lineHeight: '1.3' },
      h2: { fontSize: '0.9375rem', lineHeight: '1.4' },
      h3: { fontSize: '0.875rem', lineHeight: '1.4' },
    },
  },
  defaultRadius: 'md',
  radius: { xs: '3px', sm: '4px', md: '6px', lg: '8px', xl: '12px' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Alert: Alert.extend({ defaultProps: { variant: 'light' } }),
    Button: Button.extend({ defaultProps: { size: 'xs' } }),
    Badge: Badge.extend({ defaultProps: { variant: 'light', radius: 'sm' } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: 8, horizontalSpacing: 'sm' } }),
    // A lone minus sign would be NaN. No number in the console is negative.
    NumberInput: NumberInput.extend({ defaultProps: { allowNegative: false } }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } }),
    // Dialog headers would otherwise count as page headers for screen readers.
    Modal: Modal.extend({
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.35 },
        closeButtonProps: { 'aria-label': 'Close' },
        attributes: { header: { role: 'none' } },
      },
      styles: { title: { fontWeight: 600 } },
    }),
    Drawer: Drawer.extend({
      defaultProps: {
        position: 'right',
        overlayProps: { backgroundOpacity: 0.2 },
        closeButtonProps: { 'aria-label': 'Close' },
        attributes: { header: { role: 'none' } },
      },
      styles: { title: { fontWeight: 600 } },
    }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 250, events: { hover: true, focus: true, touch: true } } }),
  },
});

/** `--line` is the default border, `--soft` secondary text, `--ground` the background of cards. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--ground': '#faf9f7',
    '--card': '#ffffff',
    '--line': '#e8e5e0',
    '--soft': '#6b645d',
    '--accent': '#a4470f',
    '--mantine-color-body': '#faf9f7',
    '--mantine-color-dimmed': '#6b645d',
    '--mantine-color-default-border': '#d9d5ce',
    '--mantine-color-anchor': '#a4470f',
    '--mantine-color-placeholder': '#76706a',
    '--mantine-color-error': '#b3261e',
  },
  dark: {
    '--ground': '#151311',
    '--card': '#1b1917',
    '--line': '#2e2a27',
    '--soft': '#aaa29a',
    '--accent': '#eda06a',
    '--mantine-color-body': '#151311',
    '--mantine-color-dimmed': '#aaa29a',
    '--mantine-color-default-border': '#3d3834',
    '--mantine-color-anchor': '#eda06a',
    '--mantine-color-placeholder': '#958d86',
    '--mantine-color-error': '#ff9a90',
  },
});
