// What a person can do in a fight: each move is one or more picks, with the key that players' fingers know.

const attack = (style, head, choice) => [["attack", `${style}_attack`], [head, choice]];

export const NH = [
  { id: "ice", group: "attack", part: "attack", label: "Ice spell", key: "q", icon: "spell:ice", weapon: "mage", picks: attack("mage", "mage_attack_type", "use_ice_spell") },
  { id: "blood", group: "attack", part: "attack", label: "Blood spell", key: "w", icon: "spell:blood", weapon: "mage", picks: attack("mage", "mage_attack_type", "use_blood_spell") },
  { id: "range", group: "attack", part: "attack", label: "Ranged", key: "e", icon: "weapon:ranged", weapon: "ranged", picks: attack("ranged", "ranged_attack_type", "basic_ranged_attack") },
  { id: "melee", group: "attack", part: "attack", label: "Melee", key: "r", icon: "weapon:melee", weapon: "melee", picks: attack("melee", "melee_attack_type", "basic_melee_attack") },
  { id: "mage-spec", group: "attack", part: "special", label: "Magic special", key: "a", icon: "weapon:mage", weapon: "mage", picks: attack("mage", "mage_attack_type", "use_magic_spec") },
  { id: "range-spec", group: "attack", part: "special", label: "Ranged special", key: "d", icon: "weapon:ranged", weapon: "ranged", picks: attack("ranged", "ranged_attack_type", "ranged_special_attack") },
  { id: "melee-spec", group: "attack", part: "special", label: "Melee special", key: "f", icon: "weapon:spec", weapon: "spec", picks: attack("melee", "melee_attack_type", "melee_special_attack") },
  { id: "tank", group: "gear", part: "gear", label: "Tank gear", key: "t", icon: "shape:tank:#8fa7c4", picks: [["gear", "use_tank_gear"]] },
  { id: "veng", group: "veng", part: "gear", label: "Vengeance", key: "g", icon: "spell:veng", picks: [["veng", "use_veng"]] },
  { id: "pray-magic", group: "prayer", part: "prayer", label: "Protect from Magic", short: "Magic", key: "1", icon: "prayer:magic", shows: "magic", picks: [["prayer", "mage_prayer"]] },
  { id: "pray-missiles", group: "prayer", part: "prayer", label: "Protect from Missiles", short: "Missiles", key: "2", icon: "prayer:missiles", shows: "missiles", picks: [["prayer", "ranged_prayer"]] },
  { id: "pray-melee", group: "prayer", part: "prayer", label: "Protect from Melee", short: "Melee", key: "3", icon: "prayer:melee", shows: "melee", picks: [["prayer", "melee_prayer"]] },
  { id: "smite", group: "prayer", part: "prayer", label: "Smite", short: "Smite", key: "4", icon: "prayer:smite", shows: "smite", picks: [["prayer", "smite_prayer"]] },
  { id: "redemption", group: "prayer", part: "prayer", label: "Redemption", short: "Redeem", key: "5", icon: "prayer:redemption", shows: "redemption", picks: [["prayer", "redemption_prayer"]] },
  { id: "food", group: "food", part: "food", label: "Eat", key: "z", items: /^(shark|anglerfish)$/, picks: [["food", "eat_primary_food"]] },
  { id: "karambwan", group: "karambwan", part: "food", label: "Karambwan", key: "x", items: /karambwan/, picks: [["karambwan", "eat_karambwan"]] },
  { id: "brew", group: "potion", part: "food", label: "Brew", key: "c", items: /brew/, picks: [["potion", "use_brew"]] },
  { id: "restore", group: "potion", part: "food", label: "Restore", key: "v", items: /restore/, picks: [["potion", "use_restore_potion"]] },
  { id: "combat", group: "potion", part: "food", label: "Super combat", key: "b", items: /super_combat/, picks: [["potion", "use_combat_potion"]] },
  { id: "ranging", group: "potion", part: "food", label: "Ranging", key: "n", items: /ranging/, picks: [["potion", "use_ranged_potion"]] },
  { id: "under", group: "move", part: "move", label: "Under", key: "u", picks: [["movement", "move_under_target"]], away: 0 },
  { id: "next", group: "move", part: "move", label: "Beside", key: "i", picks: [["movement", "move_next_to_target"]], away: 1 },
  { id: "diagonal", group: "move", part: "move", label: "Diagonal", key: "o", picks: [["movement", "move_diagonal_to_target"]], away: 1.5 },
  ...[2, 3, 4, 5, 6, 7].map((tiles) => ({
    id: `far-${tiles}`, group: "move", part: "move", label: `${tiles} tiles`, short: `${tiles}`, key: { 2: "j", 3: "k", 4: "l", 5: "m", 6: ";", 7: "p" }[tiles], away: tiles,
    picks: [["movement", "move_to_farcast_tile"], ["farcast_distance", `farcast_${tiles}_tiles`]],
  })),
];

export const DHAROK = [
  { id: "whip", group: "attack", part: "attack", label: "Tentacle", key: "q", icon: "item:abyssal_tentacle", item: "abyssal_tentacle", picks: [["attack", "whip_attack"]] },
  { id: "axe", group: "attack", part: "attack", label: "Greataxe", key: "w", icon: "item:dharoks_greataxe", item: "dharoks_greataxe", picks: [["attack", "axe_attack"]] },
  { id: "maul", group: "attack", part: "attack", label: "Granite maul", short: "Maul", key: "f", icon: "item:granite_maul", item: "granite_maul", picks: [["attack", "maul_spec_attack"]] },
  { id: "armour-on", group: "gear", part: "gear", label: "Armour on", key: "t", icon: "item:dharoks_platebody", picks: [["gear", "full_armor"]] },
  { id: "armour-off", group: "gear", part: "gear", label: "Armour off", key: "y", icon: "shape:under:#c8b9a0", picks: [["gear", "take_armor_off"]] },
  { id: "veng", group: "vengeance", part: "gear", label: "Vengeance", key: "g", icon: "spell:veng", picks: [["vengeance", "use_veng"]] },
  ...NH.filter((move) => ["food", "karambwan", "brew", "restore", "combat"].includes(move.id)),
];

export const MOVES = { nh: NH, dharok: DHAROK };
export const PARTS = {
  attack: "Attack", special: "Special attack", prayer: "Overhead prayer", gear: "Gear and spells", food: "Food and potions", move: "Move",
};
