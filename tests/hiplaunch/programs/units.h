#pragma once
int first_unit(int value);
int second_unit(int value);
