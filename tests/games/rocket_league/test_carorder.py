from __future__ import annotations

import ctypes

from pvp_ml.games.rocket_league.car_order import BUCKETS, add_apart, bucket, find_address_word


def test_cars_stand_in_different_buckets(rocketsim):
    rs = rocketsim
    arena = rs.Arena(rs.GameMode.SOCCAR)
    probe = [arena.add_car(rs.Team.BLUE) for _ in range(6)]
    word = find_address_word(probe)
    assert word is not None
    for car in reversed(probe):
        arena.remove_car(car)
    for _ in range(5):
        junk = [bytearray(700 + 48 * i) for i in range(40)]
        cars = add_apart([lambda: arena.add_car(rs.Team.ORANGE)] * 6, arena.remove_car, word)
        assert len({bucket(car, word) for car in cars}) == 6
        assert len(arena.get_cars()) == 6
        assert [car.id for car in cars] == sorted(car.id for car in cars)
        for car in reversed(cars):
            arena.remove_car(car)
        del junk


def test_a_car_in_a_taken_bucket_is_added_again():
    class Car:
        def __init__(self, address: int) -> None:
            self.address = address

    addresses = iter([0, 13, 26, 5])
    removed: list[int] = []
    made: list[Car] = []

    def add() -> Car:
        made.append(Car(next(addresses)))
        return made[-1]

    import pvp_ml.games.rocket_league.car_order as car_order

    real = car_order.bucket
    car_order.bucket = lambda car, word: car.address % BUCKETS
    try:
        cars = add_apart([add, add], lambda car: removed.append(car.address), 3)
    finally:
        car_order.bucket = real
    assert [car.address for car in cars] == [0, 5] and removed == [13, 26]


def test_without_an_address_nothing_is_done():
    assert find_address_word([]) is None
    assert find_address_word([object()]) is None
    assert find_address_word([1.5, 2.5]) is None  # differs, but is no pointer
    assert add_apart([lambda: 1, lambda: 2], lambda car: None, None) == [1, 2]
    assert ctypes.sizeof(ctypes.c_uint64) == 8
