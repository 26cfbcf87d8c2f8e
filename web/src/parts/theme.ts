/** Light or dark: as the system has it, or as chosen here. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export const THEMES: Theme[] = ["system", "light", "dark"];

const KEY = "millrace.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>((localStorage.getItem(KEY) as Theme | null) ?? "system");
/** Whether colours are dark now; what draws on a canvas draws again when it changes. */
export const isDark = signal(false);

const settle = (): void => {
  isDark.value = theme.value === "dark" || (theme.value === "system" && dark.matches);
};
dark.addEventListener("change", settle);

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  if (theme.value === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
  settle();
});
